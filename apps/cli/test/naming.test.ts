import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { CONTENT, shareDesk } from './person.ts';

const desk = await shareDesk();

async function namesOf(out: string): Promise<string[]> {
  const info = await desk.run(['info', desk.here(out), '--json']);
  return JSON.parse(info.out).files.map(({ name }: { name: string }) => name);
}

test('a file has the name that --name gives it', async () => {
  const { out } = await desk.run(['send', desk.file, '--parts', '--name', 'report.pdf']);
  expect(await namesOf(out)).toEqual(['report.pdf']);
  expect(CONTENT.equals(await desk.received(out))).toBe(true);
});

test('and a folder, for whatever is in it', async () => {
  const folder = join(desk.folder, 'sent');
  await mkdir(join(folder, 'inner'), { recursive: true });
  await writeFile(join(folder, 'a'), 'a');
  await writeFile(join(folder, 'inner/b'), 'b');
  const { out } = await desk.run(['send', folder, '--parts', '--name', 'holiday']);
  expect(await namesOf(out)).toEqual(['holiday/a', 'holiday/inner/b']);
});

test.each([
  ['mayfly resume', ['resume']],
  ['mayfly send --resume', ['send', '--resume', '--name', 'report.pdf', desk.file]],
])('an upload that was interrupted keeps it: %s', async (_, args) => {
  await desk.stopped(desk.file, '--name', 'report.pdf');
  const { code, out } = await desk.run(args);
  expect(code).toBe(0);
  expect(desk.sentParts()).toBeLessThan(9); // it went on
  expect(await namesOf(out)).toEqual(['report.pdf']);
});
