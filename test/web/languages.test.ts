import { expect, test } from 'vitest';
import { describeWeb } from './describe-web.ts';

describeWeb('languages', { shapes: ['all'] }, (web) => {
  test('dates are written as where the visitor is', async () => {
    const file = new File(['text'], 'letter.txt');
    const { link } = await web.client.uploadFiles([file], { expireSec: 3600, maxDownloads: 1 });
    for (const [locale, written] of [
      ['en-GB', /^\d{1,2} \w+ \d{4}, \d\d:\d\d \(/],
      ['en-US', /^\w+ \d{1,2}, \d{4}, \d{1,2}:\d\d\s[AP]M \(/],
    ] as const) {
      await using watched = await web.open({ locale });
      await watched.page.goto(link);
      const ends = watched.page.locator('dt:text-is("Ends") + dd');
      expect((await ends.textContent())?.trim()).toMatch(written);
    }
  });
});
