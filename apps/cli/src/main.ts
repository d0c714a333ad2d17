#!/usr/bin/env node
import { setTimeout as sleep } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { asMayflyError } from '@mayfly/client';
import facts from '../package.json' with { type: 'json' };
import { dataFolder, readConfig } from './config.ts';
import { STOPPED } from './exit-codes.ts';
import { keptRequests } from './own-request.ts';
import { ownedItems } from './owned.ts';
import { buildProgram } from './program.ts';
import { untilStopped } from './stop-signals.ts';
import { tellFailure, wantsJson } from './tell-failure.ts';
import { openTerminal } from './terminal.ts';
import { unfinishedSends } from './unfinished.ts';

// What streams through is garbage at once: with more room for that, V8 would only let it lie about longer.
setFlagsFromString('--semi-space-growth-factor=1');
const { env, stdin, stdout, stderr } = process;
// Requests use cryptography that Node calls experimental, which is no news for whoever runs a command.
process.removeAllListeners('warning');
process.on('warning', ({ name, message }) => {
  if (name !== 'ExperimentalWarning') stderr.write(`${name}: ${message}\n`);
});
const signal = untilStopped(() => process.exit(STOPPED));
// Whoever reads the output may end before it does: mayfly list | head -1.
stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1));
// A terminal that was closed: what is under way is put in order all the same.
stderr.on('error', () => {});

const isJson = wantsJson(process.argv.slice(2));
const program = buildProgram(facts.version, async () => ({
  env,
  config: await readConfig(env),
  terminal: openTerminal({ stdin, stdout, stderr }, signal, isJson),
  owned: ownedItems(dataFolder(env, 'owned')),
  unfinished: unfinishedSends(dataFolder(env, 'unfinished')),
  requests: keptRequests(dataFolder(env, 'requests')),
  signal,
  sleep: (ms) =>
    sleep(ms, undefined, { signal }).catch((error) => {
      throw asMayflyError(error, signal);
    }),
}));
for (const command of [program, ...program.commands]) {
  command.exitOverride();
  if (isJson) command.configureOutput({ outputError: () => {}, writeErr: () => {} });
}

try {
  await program.parseAsync();
} catch (error) {
  process.exitCode = tellFailure(error, stderr, isJson);
}
// Nothing is waited for any more: a stdin that is still open must not keep the command.
stdin.destroy();
