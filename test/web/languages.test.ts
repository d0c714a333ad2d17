import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { describeWeb } from './describe-web.ts';
import { problemsOfLooks } from './looks.ts';

describeWeb('languages', { shapes: ['all'] }, (web) => {
  const shared = web.sharePage();
  const file = (name: string) => new File(['text'], name);
  const menu = (page: Page) => page.locator('footer select');

  async function choose(page: Page, tag: string) {
    await menu(page).selectOption(tag);
    await page.locator(`html[lang=${tag}]`).waitFor();
  }

  test('dates are written as where the visitor is', async () => {
    const { link } = await web.client.uploadFiles([file('letter.txt')], { expireSec: 3600, maxDownloads: 1 });
    for (const [locale, written] of [
      ['en-GB', /^\d{1,2} \w+ \d{4}, \d\d:\d\d \(/],
      ['en-US', /^\w+ \d{1,2}, \d{4}, \d{1,2}:\d\d\s[AP]M \(/],
    ] as const) {
      await using page = await web.visit(link, { locale });
      const ends = page.locator('dt:text-is("Ends") + dd');
      expect((await ends.textContent())?.trim()).toMatch(written);
    }
  });

  test.each([
    { tag: 'ar', name: 'العربية', dir: 'rtl' },
    { tag: 'uk', name: 'Українська', dir: 'ltr' },
  ])('$name is chosen while a note is written, and nothing of it is lost', async ({ tag, name, dir }) => {
    await using page = await web.visit(web.baseUrl);
    await page.getByText('Note', { exact: true }).click();
    await page.locator('textarea').fill('The door code is 4711.');
    await menu(page).focus();
    await menu(page).selectOption({ label: name });
    await page.locator(`html[lang=${tag}][dir=${dir}]`).waitFor();
    expect(await page.locator('textarea').inputValue()).toBe('The door code is 4711.');
    expect(await menu(page).evaluate((element) => element === document.activeElement)).toBe(true);
    expect(await problemsOfLooks(page, `send-note-${tag}`)).toEqual([]);
    await page.reload();
    await page.locator(`html[lang=${tag}][dir=${dir}]`).waitFor();
  });

  test.each([
    { locale: 'zh-TW', lang: 'zh-Hant', says: '傳送檔案或便條', offline: '沒有連線' },
    { locale: 'zh-HK', lang: 'zh-Hant', says: '傳送檔案或便條', offline: '沒有連線' },
    { locale: 'zh-CN', lang: 'zh', says: '发送文件或便笺', offline: '没有连接' },
  ])(
    'Chinese of $locale is written as it is there, also without the service',
    async ({ locale, lang, says, offline }) => {
      await using page = await web.open({ locale });
      const context = page.context();
      await page.goto(`${web.baseUrl}/uploads`);
      await page.locator(`html[lang=${lang}]`).waitFor();
      await page.getByRole('link', { name: says, exact: true }).waitFor();
      await page.evaluate(async () => {
        await navigator.serviceWorker.ready;
      });
      await context.setOffline(true);
      await page.goto(`${web.baseUrl}/uploads`);
      await page.getByRole('heading', { name: offline }).waitFor();
      expect(await page.locator('html').getAttribute('lang')).toBe(lang);
      await context.setOffline(false);
      await page.locator(`html[lang=${lang}] footer`).waitFor();
    },
  );

  test('numbers of files have the plural forms of Polish, and a recipient reads Arabic from the right', async () => {
    const stay = { expireSec: 3600, maxDownloads: 3 };
    const page = shared();
    for (const [count, title] of [
      [3, 'Ktoś przesłał Ci 3 pliki'],
      [5, 'Ktoś przesłał Ci 5 plików'],
    ] as const) {
      const files = Array.from({ length: count }, (_, index) => file(`photos/${index} (copy).jpg`));
      const { link } = await web.client.uploadFiles(files, stay);
      await page.goto('about:blank'); // a link in the same page is taken as another one
      await page.goto(link);
      await page.locator('main h1').waitFor();
      await choose(page, 'pl');
      await page.getByRole('heading', { name: title }).waitFor();
      await choose(page, 'ar');
      expect(await problemsOfLooks(page, 'receive-files-arabic')).toEqual([]);
    }
  });

  test('in every language the header is one row on a phone, and nothing is too wide', async () => {
    const page = shared();
    await page.setViewportSize({ width: 360, height: 740 });
    await page.goto(web.baseUrl);
    await menu(page).waitFor();
    const tags = await menu(page)
      .locator('option')
      .evaluateAll((options) => options.map((option) => (option as HTMLOptionElement).value));
    expect(tags.length).toBeGreaterThan(11);
    const faults: string[] = [];
    for (const tag of tags) {
      await choose(page, tag);
      faults.push(
        ...(await page.evaluate((language) => {
          const [brand, nav] = ['header .brand', 'header nav'].map((part) =>
            document.querySelector(part)?.getBoundingClientRect(),
          );
          const isOneRow = brand && nav && nav.top < brand.bottom && brand.top < nav.bottom && nav.height < 60;
          const { scrollWidth, clientWidth } = document.documentElement;
          return [
            ...(isOneRow ? [] : [`${language}: the header has two rows`]),
            ...(scrollWidth > clientWidth ? [`${language}: ${scrollWidth} px on ${clientWidth}`] : []),
          ];
        }, tag)),
      );
    }
    expect(faults).toEqual([]);
  });
});
