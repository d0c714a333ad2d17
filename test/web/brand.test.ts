import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { freshFolder } from '@mayfly/testing/stores';
import { afterAll, expect, test } from 'vitest';
import { describeWeb } from './describe-web.ts';
import { problemsOfLooks } from './looks.ts';

const folder = await freshFolder();
afterAll(() => folder[Symbol.asyncDispose]());
const logo = join(folder.path, 'logo.svg');
await writeFile(logo, '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1"><path d="M0 0h1v1z"/></svg>');

const NAMED = {
  BRAND_NAME: 'Example Files',
  BRAND_LOGO: logo,
  LINK_PRIVACY: 'https://files.example/privacy',
  LINK_REPORT: 'mailto:abuse@files.example',
};

// Neither could be read as it is: yellow on a light page, navy blue on a dark one.
inColor('#ffe600');
inColor('#000080');

function inColor(color: string) {
  describeWeb(
    `the operator's brand in ${color}`,
    { shapes: ['all'], settings: { ...NAMED, BRAND_COLOR: color } },
    (web) => {
      const shared = web.sharePage();

      test('is on every page, legible in light and dark', async () => {
        const page = shared();
        await page.goto(web.baseUrl);
        await page.getByRole('link', { name: 'Example Files' }).waitFor();
        await page.getByText('Choose files').waitFor();
        expect(await page.title()).toContain('Example Files');
        expect(await page.getByRole('link', { name: 'Report abuse' }).getAttribute('href')).toBe(NAMED.LINK_REPORT);
        expect(await page.getByRole('link', { name: 'Legal notice' }).count()).toBe(0);
        const isShown = page
          .locator('header img')
          .evaluate((image: HTMLImageElement) => image.decode().then(() => image.naturalWidth > 0));
        expect(await isShown).toBe(true);
        expect(await problemsOfLooks(page, 'brand')).toEqual([]);
      });

      test('is there at once on the next visit, also when the service does not say it again', async () => {
        const page = shared();
        await page.route('**/brand.json', (route) => route.abort());
        await page.goto(`${web.baseUrl}/uploads`);
        await page.getByRole('link', { name: 'Example Files' }).waitFor();
        expect(await page.evaluate(() => document.documentElement.style.getPropertyValue('--brand'))).toBe(color);
      });
    },
  );
}
