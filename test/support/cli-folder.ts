import { randomBytes } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { inSuite } from '@mayfly/testing/in-suite';
import { freshFolder } from '@mayfly/testing/stores';
import { expect } from 'vitest';
import { type CliOptions, runCli } from './mayfly-cli.ts';

type Options = Partial<CliOptions>;

/** The command line for the tests of a suite: in a folder of its own, with a service. */
export function cliFolder(baseUrl: () => string, env: Record<string, string> = {}) {
  const folder = inSuite(freshFolder);
  const inFolder = (...names: string[]) => join(folder().path, ...names);
  const cli = (args: string[], options: Options = {}) =>
    runCli(args, { cwd: folder().path, ...options, env: { MAYFLY_SERVER: baseUrl(), ...env, ...options.env } });
  /** The same, and it must succeed without a complaint. */
  const ok = async (args: string[], options: Options = {}) => {
    const result = await cli(args, options);
    expect(result.err, args.join(' ')).not.toContain('mayfly:');
    expect(result.code).toBe(0);
    return result;
  };
  const newFolder = async () => {
    const name = randomBytes(6).toString('hex');
    await mkdir(inFolder(name));
    return name;
  };
  return { inFolder, cli, ok, newFolder };
}
