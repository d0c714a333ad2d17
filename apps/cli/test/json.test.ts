import { spawn } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { inSuite } from '@mayfly/testing/in-suite';
import { freshFolder } from '@mayfly/testing/stores';
import { beforeAll, expect, test } from 'vitest';
import { jsonLine } from '../src/json-line.ts';

// With --json whatever comes of a command is JSON. What it says when it has worked is in test/end-to-end.

const folder = inSuite(freshFolder);
beforeAll(() => writeFile(join(folder().path, 'config.json'), '{"sever":"https://mayfly.example"}'));

async function mayfly(args: string[], env: Record<string, string> = {}) {
  const { PATH, NODE_COMPILE_CACHE } = process.env;
  const command = spawn(process.execPath, [join(import.meta.dirname, '../src/main.ts'), ...args], {
    env: { HOME: folder().path, PATH, NODE_COMPILE_CACHE, ...env },
    cwd: folder().path,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const code = new Promise((resolve) => command.once('close', resolve));
  return { out: await text(command.stdout), err: await text(command.stderr), code: await code };
}

test.each([
  [['send', '--json'], "Missing required argument 'file'"],
  [['send', '--json', 'a', '--downloads', 'many'], expect.stringMatching(/^Option '--downloads.* It must be a whole/)],
  [['--json', 'nonsense'], "Unknown option '--json'"],
  [['nonsense', '--json'], "Unknown command 'nonsense'"],
  [['list', '--json', '--nonsense'], "Unknown option '--nonsense'"],
  [['note', 'x', '--type', 'poem', '--json'], expect.stringContaining('Allowed choices are text, markdown')],
  [['completion', 'bash', '--json'], "Unknown option '--json'"],
  [['note', '--json', 'x'], expect.stringContaining('Which service?')],
])('%j is a wrong command line, which is said in JSON and nothing else', async (args, message) => {
  const { code, out, err } = await mayfly(args);
  expect([code, out]).toEqual([2, '']);
  expect(JSON.parse(err)).toEqual({ error: { code: 'usage', message } });
});

test('a config file that is wrong is said in JSON as well', async () => {
  const { code, err } = await mayfly(['list', '--json'], { MAYFLY_CONFIG: join(folder().path, 'config.json') });
  expect([code, JSON.parse(err)]).toEqual([
    2,
    { error: { code: 'usage', message: expect.stringContaining('unknown setting: sever') } },
  ]);
});

test('without --json it is a sentence, also where a text is called that', async () => {
  expect(await mayfly(['note', '--server', 'ftp://x', '--', '--json'])).toMatchObject({
    code: 2,
    err: expect.stringMatching(/^mayfly: /),
  });
});

test('what happens on the way is said in JSON lines', async () => {
  const { code, err } = await mayfly(['note', 'x', '--json', '--server', 'http://0.0.0.0:1']);
  const [notice, failure, ...rest] = err.trimEnd().split('\n');
  expect(JSON.parse(notice ?? '')).toEqual({ notice: expect.stringMatching(/^Warning: this address is not HTTPS/) });
  expect([code, JSON.parse(failure ?? '').error.code, rest]).toEqual([9, 'network', []]);
});

test('a line of JSON cannot drive a terminal or turn its writing, and means the same', () => {
  const name = 'a\u001b[31m\u007f\u0085\u009b2J\u202egpj.exe\u2066\u200f\u061c\u200eü 👩‍👩‍👧\n';
  const line = jsonLine({ name });
  expect(line).toBe(
    '{"name":"a\\u001b[31m\\u007f\\u0085\\u009b2J\\u202egpj.exe\\u2066\\u200f\\u061c\\u200eü 👩‍👩‍👧\\n"}\n',
  );
  expect(JSON.parse(line)).toEqual({ name });
});
