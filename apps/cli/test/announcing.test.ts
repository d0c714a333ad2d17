import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { MayflyError } from '@mayfly/client';
import { describe, expect, test } from 'vitest';
import { CONTENT, shareDesk } from './person.ts';

const desk = await shareDesk();
const { file } = desk;

describe('mayfly send --announce', () => {
  test('prints the link once, before any byte is sent, and says at the end that it is complete', async () => {
    const before: string[][] = [];
    const { out, err } = await desk.run(['send', file, '--announce'], {
      onPrint: () => before.push([...desk.service.requests]),
    });
    expect(before).toEqual([['GET /api/config', 'POST /api/parts']]);
    expect(out).toMatch(/^https:\S+\n$/);
    expect(err).toMatch(/^Whoever opens the link sees how far it is, .*\nIt is complete\. Good for 1 download or /);
  });

  test('with --json there is one object, at the end; what is printed without --announce has its link at the end', async () => {
    for (const options of [['--announce', '--json'], ['--parts']]) {
      let partsThen = 0;
      const { out } = await desk.run(['send', file, ...options], {
        onPrint() {
          partsThen = [...desk.service.sessions.values()].at(-1)?.parts.size ?? 0;
        },
      });
      expect([partsThen, out.trim().split('\n').length]).toEqual([9, 1]);
    }
  });

  test('is not for what is sent in one piece', async () => {
    const { code, err } = await desk.run(['send', file, '--announce', '--no-parts']);
    expect([code, err]).toEqual([2, expect.stringContaining('--announce is for what is sent in parts')]);
  });
});

describe('mayfly get of an upload that is still being sent', () => {
  /** An announced upload that has stopped for the moment. */
  async function announced() {
    const id = await desk.stopped(file, '--announce');
    const [send] = await desk.unfinished.list();
    return { id, link: desk.here(send?.upload.link ?? '') };
  }
  const get = (link: string) => ['get', link, '--force', '-o', join(desk.folder, 'got')];

  test('says how far it is and what waits for it, and so does info', async () => {
    const { link } = await announced();
    for (const command of [get(link), ['info', link]]) {
      const { code, err } = await desk.run(command);
      expect([code, err]).toEqual([
        11,
        expect.stringMatching(/^It is still being sent \([345]\d %\); mayfly get --wait waits for it\n$/),
      ]);
    }
  });

  test('with --wait gets it as soon as it is complete, and asks less and less often', async () => {
    const { link } = await announced();
    const waitsSec: number[] = [];
    const { code, out, err } = await desk.run([...get(link), '--wait'], {
      async sleep(ms) {
        waitsSec.push(ms / 1000);
        if (waitsSec.length === 12) await desk.run(['resume']);
      },
    });
    expect([code, err]).toEqual([0, expect.stringMatching(/^It is still being sent \([345]\d %\); waiting for it\n$/)]);
    expect(CONTENT.equals(await readFile(out.trim()))).toBe(true);
    expect(waitsSec).toHaveLength(12);
    for (const [index, wait] of waitsSec.entries()) {
      const middle = Math.min(30, 5 * 1.25 ** index);
      expect(wait).toBeGreaterThanOrEqual(0.9 * middle);
      expect(wait).toBeLessThanOrEqual(1.1 * middle);
    }
  });

  test('with --wait survives a service that is away for a while, and waits as long as that asks', async () => {
    const { link } = await announced();
    const waitsMs: number[] = [];
    const { code, err } = await desk.run([...get(link), '--wait'], {
      async sleep(ms) {
        waitsMs.push(ms);
        const isAway = waitsMs.length < 3;
        desk.service.fault = () => (isAway ? { status: 503, headers: { 'retry-after': '600' }, body: {} } : undefined);
        if (!isAway) await desk.run(['resume']);
      },
    });
    expect(code).toBe(0);
    expect(err.match(/not available at the moment; trying again/g)).toHaveLength(1);
    expect(waitsMs.slice(1)).toEqual([600_000, 600_000]);
  });

  test('with --wait ends when the upload has ended, or whoever waits does not want to', async () => {
    const { id, link } = await announced();
    const stopped = await desk.run([...get(link), '--wait'], {
      sleep: () => Promise.reject(new MayflyError('aborted')),
    });
    expect(stopped).toMatchObject({ code: 130, out: '' });
    const { code, err } = await desk.run([...get(link), '--wait'], {
      async sleep() {
        desk.service.sessions.delete(id);
      },
    });
    expect([code, err]).toEqual([18, expect.stringContaining('Its upload ended before it was complete')]);
  });

  test('that was not announced is unknown, waited for or not', async () => {
    await desk.stopped(file);
    const [send] = await desk.unfinished.list();
    const link = desk.here(send?.upload.link ?? '');
    for (const more of [[], ['--wait']]) {
      const { code, err } = await desk.run([...get(link), ...more]);
      expect([code, err]).toEqual([3, 'There is nothing at this link\n']);
    }
  });
});
