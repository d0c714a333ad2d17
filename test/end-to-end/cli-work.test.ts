import { randomBytes } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { inSuite } from '@mayfly/testing/in-suite';
import { SHAPES, startShape } from '@mayfly/testing/shapes';
import { describe, expect, test } from 'vitest';
import { call } from '../support/api.ts';
import { cliFolder } from '../support/cli-folder.ts';

const SAID = 'The service is busy with requests from your network. Working to be let in ...\n';

const SETTINGS = { WORK: 'adaptive', WORK_EXTRA: '20', RATE_LIMIT_MAX: '3', RATE_LIMIT_WINDOW_SEC: '3600' };

describe.each(SHAPES)('the command line over its request limit (%s)', (shape) => {
  const running = inSuite(() => startShape(shape, SETTINGS));
  const { inFolder, ...folder } = cliFolder(() => running().baseUrl);
  const cli = (...args: string[]) => folder.cli(args);

  test('works for a place and finishes by itself: sent, in one piece and in parts, and received', async () => {
    const look = async () => (await call('GET', `${running().baseUrl}/api/config`)).status;
    while ((await look()) !== 429);
    for (const how of [[], ['--parts']]) {
      const content = randomBytes(12_000_000);
      await writeFile(inFolder('sent.bin'), content);
      const sent = await cli('send', 'sent.bin', ...how);
      expect([sent.code, sent.err.split(SAID).length]).toEqual([0, 2]); // it is said once
      const received = await cli('get', sent.out.trim(), '--output', 'received.bin', '--force');
      expect([received.code, received.err.split(SAID).length]).toEqual([0, 2]);
      expect((await readFile(inFolder('received.bin'))).equals(content)).toBe(true);
    }
    expect(await look()).toBe(429); // nothing has become free
  });
});
