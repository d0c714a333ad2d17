import { writeFile } from 'node:fs/promises';
import { untilTrue } from '@mayfly/testing/wire';
import { beforeAll, expect, test } from 'vitest';
import { cliFolder } from '../support/cli-folder.ts';
import { describeEachShape } from '../support/each-shape.ts';

const MINUTE = /^ {2}\d{4}-\d\d-\d\d \d\d:\d\d$/;

describeEachShape('a sender at the command line', {}, (service) => {
  const { inFolder, cli, ...folder } = cliFolder(() => service.running.baseUrl);
  beforeAll(() => writeFile(inFolder('plan.txt'), 'the plan'));
  const ok = async (...args: string[]) => (await folder.ok(args)).out;
  const send = async (...args: string[]) =>
    JSON.parse(await ok('send', 'plan.txt', '--json', ...args)) as { id: string; link: string };

  test('sees when it was downloaded, lets it be downloaded longer and more often, and closes it', async () => {
    const { id, link } = await send('--downloads', '2', '--expires', '1h');
    expect((await ok('status', id)).split('\n')).toEqual([
      'plan.txt',
      expect.stringMatching(/^Available for (1 hour|60 minutes)$/),
      '0 of 2 downloads used',
      '',
    ]);
    await ok('get', link, '-o', inFolder('received'));
    await untilTrue(async () => JSON.parse(await ok('status', id, '--json')).wholeCount === 1);
    const extended = await ok('extend', id, '--expires', '1d', '--uses', '5');
    expect(extended.split('\n')).toEqual([
      'plan.txt',
      expect.stringMatching(/^Available for (1 day|24 hours)$/),
      '1 of 5 downloads used, 1 arrived whole',
      expect.stringMatching(MINUTE),
      '',
    ]);
    expect(await ok('close', link)).toContain('Closed: its time is over\n1 of 5 downloads used, 1 arrived whole');
    await untilTrue(async () => (await service.api.exists(id)).body.reason === 'expired');
    expect((await cli(['get', link])).code).toBe(4);
    expect(JSON.parse(await ok('status', id, '--json'))).toMatchObject({
      kind: 'upload',
      id,
      name: 'plan.txt',
      state: 'expired',
      usedCount: 1,
      maxUses: 5,
      wholeCount: 1,
      usedAt: [expect.any(String)],
    });
  });

  test('the same for a note, as often as it was viewed', async () => {
    const { id, link } = JSON.parse(await ok('note', 'the plan', '--views', '2', '--json'));
    await ok('get', link);
    expect(await ok('extend', id, '--uses', '1')).toMatch(
      /Closed: it was used as often as it could be\n1 of 1 view used\n/,
    );
    expect((await cli(['get', link])).code).toBe(5);
  });

  test('is told what cannot be, and nothing changes', async () => {
    const { id } = await send('--downloads', '1', '--expires', '1h');
    for (const [args, code, message] of [
      [['extend', id], 2, 'Say what is to change: --expires TIME, --uses COUNT, or both'],
      [['extend', id, '--expires', '2h'], 2, 'expireSec must be one of'],
      [['extend', id, '--expires', '0'], 2, 'To end it at once use mayfly close'],
      [['extend', id, '--uses', '7'], 2, 'maxDownloads must be one of'],
    ] as const) {
      const answer = await cli([...args]);
      expect([answer.code, answer.err]).toEqual([code, expect.stringContaining(message)]);
    }
    const elsewhere = await cli(['close', id], { env: { XDG_DATA_HOME: inFolder('elsewhere') } });
    expect([elsewhere.code, elsewhere.err]).toEqual([13, expect.stringContaining('It was not sent from here')]);
    const wrong = await cli(['close', id], { env: { MAYFLY_OWNER_SECRET: 'A'.repeat(43) } });
    expect(wrong.code).toBe(13);
    expect(JSON.parse(await ok('status', id, '--json'))).toMatchObject({ state: 'available', maxUses: 1 });
  });
});
