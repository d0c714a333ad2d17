import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { PACKAGE, runKit } from './run-kit.ts';

const LIBRARY = `${process.execPath} ${join(PACKAGE, '../../libs/client/test/conformance-client.ts')}`;
const inline = (program: string) => `${process.execPath} -e "${program.replaceAll('"', '\\"').replaceAll('$', '\\$')}"`;
/** A client that answers every question with what this expression makes of the library’s answer `a` to `q`. */
const altered = (expression: string) =>
  `${LIBRARY} | ${inline(`require('readline').createInterface({ input: process.stdin }).on('line', (line) => { const a = JSON.parse(line); console.log(JSON.stringify(${expression})); })`)}`;

describe('a client', () => {
  test('the library computes what the format says', async () => {
    const { code, report, failed, skipped } = await runKit(['--client', LIBRARY]);
    expect([failed, skipped]).toEqual([[], []]);
    expect(report?.passed).toBeGreaterThan(130);
    expect(code).toBe(0);
  });

  test('a client that takes what is to be refused fails', async () => {
    const { code, failed } = await runKit(['--client', altered('a.refused ? { answer: { text: "" } } : a')]);
    expect(code).toBe(1);
    expect(failed.length).toBeGreaterThan(80);
    expect(failed.filter(({ name }) => !name.includes('refused'))).toEqual([]);
  });

  test('a client whose tokens are wrong fails in these cases only', async () => {
    const wrong = altered('a.answer && a.answer.authToken ? { answer: { authToken: "x" } } : a');
    const { failed } = await runKit(['--client', wrong]);
    expect(failed.map(({ name }) => name)).toEqual(['auth token']);
  });

  test('what a client is not able to do is skipped', async () => {
    const { code, report, skipped } = await runKit(['--client', altered('({ unknown: true })')]);
    expect([code, report?.passed, report?.failed]).toEqual([0, 0, 0]);
    expect(skipped[0]?.reason).toBe('the client is not able to do it');
  });

  test.each([
    ['ends at once', 'process.exit(3)'],
    ['says what is no JSON', 'setInterval(() => console.log("what?"), 10)'],
  ])('a client that %s fails every case', async (_, program) => {
    const { code, report } = await runKit(['--client', inline(program)]);
    expect([code, report?.passed, report?.skipped]).toEqual([1, 0, 0]);
  });
});
