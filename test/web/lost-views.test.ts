import { expect, test } from 'vitest';
import { describeWeb } from './describe-web.ts';

const VIEW = '**/api/note/*/view';

describeWeb('a note whose answer is lost', { shapes: ['split'] }, (web) => {
  test('is read by the next try of the page, and counts one view', async () => {
    const note = await web.client.createNote('here after all', { expireSec: 3600, maxViews: 2 });
    await using page = await web.open();
    let tries = 0;
    await page.route(VIEW, async (route) => {
      tries += 1;
      if (tries > 1) return route.continue();
      await route.fetch();
      await route.abort(); // it was counted, and nobody told
    });
    await page.goto(note.link);
    await page.getByRole('button', { name: 'Read the note' }).click();
    await page.getByText('The answer did not arrive. Trying again').waitFor();
    await page.getByText('here after all').waitFor();
    expect(tries).toBe(2);
    expect((await web.client.getUsage(note)).usedCount).toBe(1);
  });

  test('can be tried again by its reader, when no view is left any more', { timeout: 120_000 }, async () => {
    const { link } = await web.client.createNote('here after all', { expireSec: 3600, maxViews: 1 });
    await using page = await web.open();
    let isAway = true;
    await page.route(VIEW, async (route) => {
      if (!isAway) return route.continue();
      await route.fetch();
      // So long that the page does not wait for it.
      await route.fulfill({ status: 503, headers: { 'retry-after': '60' }, json: { error: 'Service unavailable' } });
    });
    await page.goto(link);
    await page.getByRole('button', { name: 'Read the note' }).click();
    const problem = page.locator('[data-problem=unconfirmed]');
    await problem.getByText('It is not known whether the view was used.').waitFor();
    // Once more in vain: now the page knows for how long.
    await page.getByRole('button', { name: 'Try again' }).click();
    await problem.getByText(/You can try again for about \d+ (minutes?|seconds)/).waitFor();
    isAway = false;
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByText('here after all').waitFor();
  });
});
