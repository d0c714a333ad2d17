#!/usr/bin/env node
import { CommanderError } from 'commander';
import facts from '../package.json' with { type: 'json' };
import { ownedFolder, readConfig } from './config.ts';
import { describeFailure, exitCode, USAGE } from './exit-codes.ts';
import { ownedItems } from './owned.ts';
import { printable } from './printable.ts';
import { buildProgram } from './program.ts';
import { openTerminal } from './terminal.ts';

const { env, stdin, stdout, stderr } = process;
const stopped = new AbortController();
for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  // The first one cleans up; whoever sends a second one does not want to wait.
  process.once(name, () => stopped.abort());
}
// Whoever reads the output may end before it does: mayfly list | head -1.
stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1));

const program = buildProgram(facts.version, async () => ({
  env,
  config: await readConfig(env),
  terminal: openTerminal({ stdin, stdout, stderr }, stopped.signal),
  owned: ownedItems(ownedFolder(env)),
  signal: stopped.signal,
}));
for (const command of [program, ...program.commands]) command.exitOverride();

try {
  await program.parseAsync();
} catch (error) {
  if (error instanceof CommanderError) {
    // It has said what is wrong, or shown the help that was asked for.
    process.exitCode = error.exitCode === 0 ? 0 : USAGE;
  } else {
    const failure = describeFailure(error);
    const { message, retryAfterSec } = failure;
    const wait = retryAfterSec === undefined ? '' : `; try again in ${retryAfterSec} s`;
    const sentence = printable(`mayfly: ${message}${wait}`);
    stderr.write(process.argv.includes('--json') ? `${JSON.stringify({ error: failure })}\n` : `${sentence}\n`);
    process.exitCode = exitCode(failure);
  }
}
// Nothing is waited for any more: a stdin that is still open must not keep the command.
stdin.destroy();
