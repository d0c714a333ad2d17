import { parseArgs } from 'node:util';
import { ConfigError, loadConfig } from '@mayfly/shared/config';
import { Unavailable } from '@mayfly/shared/errors';
import { isReportKind, type ReportKind } from '@mayfly/shared/fields';
import { buildLogger } from '@mayfly/shared/logger';
import { openBlobs } from '@mayfly/store/open-blobs';
import { openDatabase } from '@mayfly/store/postgres/database';
import { postgresNotes } from '@mayfly/store/postgres/notes';
import { postgresDesk } from '@mayfly/store/postgres/reports';
import { postgresStats } from '@mayfly/store/postgres/stats';
import { postgresStoreRecord } from '@mayfly/store/postgres/store-record';
import webPush from 'web-push';
import { cleanupDeps } from './cleanup-deps.ts';
import { type Command, type CommandDeps, commands, OF_AN_ID } from './commands.ts';
import { adminCommandSettings } from './settings.ts';

// Operators' commands, on the same stores and settings as the janitor. README.md tells which there are.

const USAGE = `Usage: npm run admin -- COMMAND [--json]

  stats                     what is stored, what is due, what waits to be deleted
  sweep                     removes now what is due, as the janitor does
  reconcile [--dry-run]     compares blob store and database, and mends what a crash has left
            [--force]       also when that is more than is plausible
  adopt-store [--force]     says that this blob store is the database's, after a restore or a move;
                            with --force also one that lacks most uploads, or is not there yet
  remove ID                 removes an upload or a note at once, whatever its state
  reports                   what was reported, the oldest first, each as ID/NUMBER
  open ID/NUMBER            opens the link that a report discloses, and says whether it is genuine
  dismiss ID                forgets the reports of an upload, a note or a request
  block ID --reason KIND    erases it, and tells whoever has its link why: malware, phishing, csam, copyright, other
  unblock ID                tells nobody any more; what was erased stays so
  keygen                    makes a pair of keys that links are disclosed to
  push-keys                 makes a pair of keys for Web Push, as settings

Exit codes: 0 done, 1 failed or refused, 2 a wrong command line.`;

/** What a person typed; undefined when it is not a command. */
function read(
  args: string[],
): { run: Command; id: string; reason: ReportKind; isJson: boolean; isDryRun: boolean; isForced: boolean } | undefined {
  try {
    const { values, positionals } = parseArgs({
      args,
      allowPositionals: true,
      options: {
        json: { type: 'boolean' },
        'dry-run': { type: 'boolean' },
        force: { type: 'boolean' },
        reason: { type: 'string' },
      },
    });
    const [name = '', id = '', ...more] = positionals;
    const run = Object.hasOwn(commands, name) ? commands[name] : undefined;
    if (!run || more.length > 0 || OF_AN_ID.includes(name) !== (id !== '')) return undefined;
    const reason = values.reason ?? 'other';
    if ((name === 'block') !== (values.reason !== undefined) || !isReportKind(reason)) return undefined;
    if (values['dry-run'] && name !== 'reconcile') return undefined;
    if (values.force && name !== 'reconcile' && name !== 'adopt-store') return undefined;
    return {
      run,
      id,
      reason,
      isJson: values.json ?? false,
      isDryRun: values['dry-run'] ?? false,
      isForced: values.force ?? false,
    };
  } catch {
    return undefined; // an option that is not there
  }
}

async function main(): Promise<number> {
  const args = process.argv.slice(2);
  if (args.includes('--help')) {
    console.log(USAGE);
    return 0;
  }
  if (args.length === 1 && args[0] === 'push-keys') {
    const { publicKey, privateKey } = webPush.generateVAPIDKeys();
    console.log(`PUSH_PUBLIC_KEY=${publicKey}\nPUSH_PRIVATE_KEY=${privateKey}`);
    return 0;
  }
  if (args.length === 1 && args[0] === 'keygen') {
    const { newOperatorKeys } = await import('@mayfly/client/reports');
    const { publicKey, privateKey } = await newOperatorKeys();
    console.log(`REPORT_PUBLIC_KEY=${publicKey}\nREPORT_PRIVATE_KEY=${privateKey}`);
    return 0;
  }
  const wanted = read(args);
  if (!wanted) {
    console.error(USAGE);
    return 2;
  }
  const config = loadConfig(adminCommandSettings, process.env);
  const logger = buildLogger({ LOG_LEVEL: 'silent' }, 'admin');
  await using stack = new AsyncDisposableStack();
  const db = stack.use(openDatabase(config, logger));
  const blobs = stack.use(await openBlobs(config, postgresStoreRecord(db), logger));
  const deps: CommandDeps = {
    ...cleanupDeps(db, blobs, config),
    stats: postgresStats(db),
    allNotes: postgresNotes(db),
    desk: postgresDesk(db),
    privateKey: config.REPORT_PRIVATE_KEY,
    baseUrl: config.BASE_URL?.replace(/\/+$/, ''),
  };
  const { isOk, facts, sentence } = await wanted.run(deps, wanted);
  console.log(wanted.isJson ? JSON.stringify(facts, null, 2) : sentence);
  return isOk ? 0 : 1;
}

try {
  process.exitCode = await main();
} catch (error) {
  const isExpected = error instanceof ConfigError || error instanceof Unavailable;
  console.error(isExpected ? `${error.message}` : ((error as Error).stack ?? String(error)));
  process.exitCode = 1;
}
