import { randomBytes } from 'node:crypto';
import { createWriteStream, mkdirSync, rmSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';
import type { BenchArguments } from './arguments.ts';
import { runCommand, type Spent } from './command.ts';
import { median } from './load.ts';
import { AUTH_TOKEN, limitsOf, uploadHeaders } from './messages.ts';
import { atLeast, atMost, type Report, type Verdict } from './report.ts';
import { startAll, startStores } from './service.ts';
import { columns } from './table.ts';

const MIB = 2 ** 20;
const QUICK_MIB = 24;
const MOST_MB = 100;
const OF_CURL = 0.9;
const FOLDER_FILES = 4;
const ROOT = resolve(import.meta.dirname, '../..');

/** How a file reaches the service; what was piped in is piped out again. */
const WAYS = {
  piece: { what: 'file.bin', send: ['--no-parts'] },
  parts: { what: 'file.bin', send: ['--parts', '--no-resume'] },
  pipe: { what: '-', send: ['--no-parts'] },
  'pipe-parts': { what: '-', send: ['--parts'] },
  folder: { what: 'folder', send: ['--no-parts'] },
  'folder-parts': { what: 'folder', send: ['--parts', '--no-resume'] },
} as const;
type Way = keyof typeof WAYS;
export const ALL_WAYS = Object.keys(WAYS) as Way[]; // its own keys
type Direction = 'up' | 'down';

/**
 * The command line of this checkout, and of another one, sends a file in each way and fetches it, in turns with curl, which sends and fetches as
 * many bytes as they are: what each takes at most, and how long.
 */
export async function measureCommandLine(
  stack: AsyncDisposableStack,
  folder: string,
  { isQuick, mebibytes, rounds, other, only }: BenchArguments,
): Promise<Report> {
  const stores = await startStores(stack, folder);
  const settings = { UPLOAD_QUOTA_BYTES: '0', MAX_FILE_SIZE: '5GiB', RATE_LIMIT_MAX: '100000' };
  const { url } = await startAll(stack, { ...stores, env: { ...stores.env, ...settings } });
  const limits = await limitsOf(url);
  const [sizeMiB, inside] = [isQuick ? QUICK_MIB : mebibytes, (...names: string[]) => join(folder, 'work', ...names)];
  mkdirSync(inside('folder'), { recursive: true });
  await write(inside('file.bin'), sizeMiB);
  for (let index = 0; index < FOLDER_FILES; index += 1)
    await write(inside('folder', `${index}.bin`), sizeMiB / FOLDER_FILES);
  const env = { HOME: inside(), MAYFLY_SERVER: url };
  const sides = { ...(other ? { other: resolve(other) } : {}), this: ROOT };
  const taken = new Map<string, Spent[]>();
  const note = (side: string, way: string, direction: Direction, spent: Spent) => {
    const key = [side, way, direction].join();
    taken.set(key, [...(taken.get(key) ?? []), spent]);
  };

  async function turn(side: string, checkout: string, way: Way, isCounted: boolean) {
    const mayfly = join(checkout, 'mayfly');
    const { what, send } = WAYS[way];
    const [stdin, paths] = what === '-' ? [inside('file.bin'), [what]] : [undefined, [inside(what)]];
    const sent = await runCommand([mayfly, 'send', ...paths, ...send], { stdin, env });
    const target = inside('received');
    const stdout = what === '-' ? target : undefined;
    const got = await runCommand([mayfly, 'get', sent.out.trim(), '-o', stdout ? '-' : target], { stdout, env });
    if (!statSync(target).isDirectory() && statSync(target).size !== sizeMiB * MIB)
      throw new Error('not all of it came');
    rmSync(target, { recursive: true });
    if (!isCounted) return;
    note(side, way, 'up', sent.spent);
    note(side, way, 'down', got.spent);
  }

  async function curl(isCounted: boolean) {
    const headers = Object.entries({ ...uploadHeaders(limits), 'X-Max-Downloads': '1' }).flatMap(([name, value]) => [
      '-H',
      `${name}: ${value}`,
    ]);
    const post = ['curl', '-sS', '-f', '-X', 'POST', '-T', inside('file.bin'), '-H', 'Expect:', ...headers];
    const sent = await runCommand([...post, `${url}/api/upload`], { env });
    const address = `${url}/api/download/${JSON.parse(sent.out).id}`;
    const get = ['curl', '-sS', '-f', '-o', inside('received'), '-H', `X-Auth-Token: ${AUTH_TOKEN}`, address];
    const got = await runCommand(get, { env });
    rmSync(inside('received'));
    if (!isCounted) return;
    note('curl', 'curl', 'up', sent.spent);
    note('curl', 'curl', 'down', got.spent);
  }

  const ways = ALL_WAYS.filter((way) => only.length === 0 || only.includes(way));
  for (let round = isQuick ? 1 : 0; round <= rounds; round += 1) {
    for (const way of ways) {
      await curl(round > 0);
      const turns = Object.entries(sides);
      for (const [side, checkout] of round % 2 === 0 ? turns : turns.toReversed())
        await turn(side, checkout, way, round > 0);
    }
    console.log(`round ${round} of ${rounds}: done`);
  }
  return report(taken, [...Object.keys(sides)], ways, sizeMiB);
}

function report(taken: Map<string, Spent[]>, sides: string[], ways: Way[], sizeMiB: number): Report {
  const rows: string[][] = [];
  const figures: object[] = [];
  const verdicts: Verdict[] = [];
  for (const direction of ['up', 'down'] as const) {
    const curls = taken.get(['curl', 'curl', direction].join()) ?? [];
    const row = (side: string, way: string, spent: Spent[]) => {
      const ofCurl = median(spent.map(({ seconds }, turn) => beside(curls, turn, ways, way) / seconds));
      const figure = {
        side,
        way,
        direction,
        mebibytesPerSec: sizeMiB / median(spent.map(({ seconds }) => seconds)),
        cpuSec: median(spent.map(({ cpuSec }) => cpuSec)),
        ofCurl,
        peakMegabytes: Math.max(...spent.map(({ peakBytes }) => peakBytes)) / 1e6,
      };
      figures.push(figure);
      rows.push([
        direction,
        way,
        side,
        figure.mebibytesPerSec.toFixed(0),
        figure.cpuSec.toFixed(2),
        ofCurl.toFixed(2),
        figure.peakMegabytes.toFixed(1),
      ]);
      return figure;
    };
    row('curl', 'curl', curls);
    for (const way of ways) {
      for (const side of sides) {
        const { peakMegabytes, ofCurl } = row(side, way, taken.get([side, way, direction].join()) ?? []);
        if (side !== 'this') continue;
        verdicts.push(atMost(`${direction}, ${way}: memory`, peakMegabytes, MOST_MB, 'MB'));
        verdicts.push(atLeast(`${direction}, ${way}: speed of curl,`, ofCurl, OF_CURL));
      }
    }
  }
  const headings = ['way', 'what', 'of', 'MiB/s', 'CPU s', 'speed of curl', 'most MB'];
  return { text: columns([headings, ...rows]), figures: { sizeMiB, ways: figures }, verdicts };
}

/** Of curl, which had a turn before each way. */
function beside(curls: Spent[], turn: number, ways: string[], way: string): number {
  const place = way === 'curl' ? turn : turn * ways.length + ways.indexOf(way);
  return curls[place]?.seconds ?? Number.NaN;
}

async function write(path: string, sizeMiB: number) {
  await pipeline(function* () {
    for (let index = 0; index < sizeMiB; index += 1) yield randomBytes(MIB);
  }, createWriteStream(path));
}
