import { setTimeout as sleep } from 'node:timers/promises';
import { openFaultProxy } from '@mayfly/testing/fault-proxy';
import { inSuite } from '@mayfly/testing/in-suite';
import { SHAPES, startShape } from '@mayfly/testing/shapes';
import { freshDatabase } from '@mayfly/testing/stores';
import { describe, expect, test } from 'vitest';
import { Api } from '../support/api.ts';

// A node of PostgreSQL is lost: its connections stay open and nothing comes back. Nobody is told.

describe.each(SHAPES)('PostgreSQL goes silent (%s)', (shape) => {
  const database = inSuite(() => freshDatabase({ hasTables: true }));
  const proxy = inSuite(() => openFaultProxy(database().url));
  const running = inSuite(() => startShape(shape, { DATABASE_URL: proxy().url }));

  const items = async () => {
    const api = new Api(running().baseUrl);
    return { upload: await api.newUpload({ 'X-Max-Downloads': '100' }), note: await api.newNote({ maxViews: 100 }) };
  };
  /** One request of every kind on every public address; the statuses that came back. */
  const everything = async ({ upload, note }: Awaited<ReturnType<typeof items>>): Promise<number[]> => {
    const answers = running().baseUrls.flatMap((baseUrl) => {
      const api = new Api(baseUrl);
      return [
        api.info(upload.id),
        api.download(upload.id, upload.authToken),
        api.newUpload().then(() => ({ status: 200 })),
        api.note(note.id),
        api.view(note.id, note.authToken),
        api.newNote().then(() => ({ status: 200 })),
      ];
    });
    return Promise.all(answers.map((answer) => answer.catch(() => ({ status: 503 })).then(({ status }) => status)));
  };
  const secondsUntilWell = async (used: Awaited<ReturnType<typeof items>>) => {
    const began = performance.now();
    while (performance.now() - began < 30_000) {
      if ((await everything(used)).every((status) => status === 200)) return (performance.now() - began) / 1000;
    }
    throw new Error('it is not well after 30 s');
  };

  test('new connections work: it is well within 15 s', { timeout: 60_000 }, async () => {
    const used = await items();
    await everything(used);
    proxy().silence();
    proxy().mend();
    expect(await secondsUntilWell(used)).toBeLessThan(15);
  });

  test('new connections are silent, too, and work later: it is well within 15 s from then', {
    timeout: 60_000,
  }, async () => {
    const used = await items();
    await everything(used);
    proxy().silence();
    const requests: Promise<number[]>[] = [];
    for (let i = 0; i < 4; i++) {
      requests.push(everything(used));
      await sleep(1_500);
    }
    proxy().mend();
    expect(await secondsUntilWell(used)).toBeLessThan(15);
    const statuses = new Set((await Promise.all(requests)).flat());
    expect([...statuses].every((status) => status === 200 || status === 503)).toBe(true);
  });
});
