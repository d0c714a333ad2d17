import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { freshFolder } from '@mayfly/testing/stores';

export const PACKAGE = join(import.meta.dirname, '..');

export type Report = {
  passed: number;
  failed: number;
  skipped: number;
  results: { section: string; name: string; outcome: string; reason?: string }[];
};

/** Runs the kit as a command, and gives what it says and the report it writes; undefined when it writes none. */
export async function runKit(args: string[], { program = join(PACKAGE, 'src/main.ts'), env = {} } = {}) {
  await using folder = await freshFolder();
  const [jsonFile, junitFile] = [join(folder.path, 'report.json'), join(folder.path, 'report.xml')];
  const all = [program, ...args, '--json', jsonFile, '--junit', junitFile];
  const ended = await new Promise<{ code: number; out: string; err: string }>((resolve) => {
    execFile(process.execPath, all, { env: { ...process.env, ...env } }, (error, out, err) =>
      resolve({ code: error ? Number(error.code) : 0, out, err }),
    );
  });
  const read = (file: string) => readFile(file, 'utf8').catch(() => undefined); // none was written
  const json = await read(jsonFile);
  const report = json === undefined ? undefined : (JSON.parse(json) as Report);
  return { ...ended, report, junit: await read(junitFile), failed: failedOf(report), skipped: skippedOf(report) };
}

const named = (report: Report | undefined, outcome: string) =>
  (report?.results ?? []).filter((result) => result.outcome === outcome);
const failedOf = (report: Report | undefined) => named(report, 'failed').map(({ name, reason }) => ({ name, reason }));
const skippedOf = (report: Report | undefined) =>
  named(report, 'skipped').map(({ name, reason }) => ({ name, reason }));
