import { parseArgs } from 'node:util';
import { DIALECTS } from './messages.ts';
import type { Target } from './target.ts';

export const KINDS = [
  'all',
  'split',
  'tails',
  'hops',
  'start',
  'beside',
  'replicas',
  'capacity',
  'crowd',
  'growth',
  'telemetry',
  'parts',
  'leases',
  'command-line',
] as const;
export type Kind = (typeof KINDS)[number];

export const USAGE = `Usage: npm run bench -- [KIND] [--quick] [--only NAME]... [--rounds N] [--seconds N] [--anyway] [--beside URL [--dialect NAME] [--beside-pid PID]] [--folder DIR] [--other DIR] [--mebibytes N] [--namespace NAME --address IP]

  KIND is one of:
  all, split   every scenario on one process (all), or on four
  tails        how long small requests take that are sent at a fixed rate, 70 % of what all and split can answer, alone, beside 20 transfers that fill 1 Gbit/s and beside 20 at full speed
  hops         what gateway and files cost beside nginx and a bare forwarder between the same two
  start        how long npm start takes, and the memory of all that it leaves running (Linux)
  beside       what one process of this code costs beside one of --other, in turns of --seconds (1), as often as --rounds (20)
  replicas     what two and four replicas add, each process held to a share of a core (root, cgroups)
  capacity     CPU seconds of each process and store per 1,000 requests and per GB with 1, 2 and 4 replicas, and what runs out first
  crowd        what others notice of thousands of idle and slow clients
  growth       what requests cost with 10 million rows in each table (several GB on the disk), and Redis with 100,000 clients
  telemetry    what metrics and traces cost a request, in turns of --seconds (1), as often as --rounds (20)
  parts        the same file sent in one piece and in parts, in turns
  leases       what a download under a lease costs beside a plain one, in turns, as often as --rounds
  command-line what ./mayfly takes, here and in --other, to send and to fetch a file, in turns with curl
  --quick      one short round: to see that it works, not to cite
  --only       this scenario only; may be repeated
  --anyway     go on while other programs take more than 15 % of the machine
  --beside     measure a service that runs there, too (for all and split); its limits must let the load through
  --dialect    what that one calls its limits: mayfly (default) or skysend
  --beside-pid its process, whose time and memory count with those of its children
  --folder     where stores, payloads and the references' files lie while it runs (/var/tmp)
  --other      another checkout of this project, with its dependencies installed (for beside and command-line)
  --mebibytes  size of the file (for parts and command-line; 512)
  --namespace  the sender is in this network namespace, which knows the service as --address (for parts; root)`;

export type BenchArguments = {
  kind: Kind;
  isQuick: boolean;
  only: string[];
  rounds: number;
  seconds: number;
  /** Whether the work of other programs is only warned of. */
  isAnyway: boolean;
  /** A service that runs already, measured like this one. */
  peer: Target | undefined;
  folder: string;
  /** Another checkout of this project; only for `beside` and `command-line`. */
  other: string | undefined;
  /** Size of the file of `parts` and `command-line`. */
  mebibytes: number;
  /** Network namespace of the sender; only for `parts`. */
  namespace: string | undefined;
  /** Where services listen. */
  address: string;
};

/** Throws with a sentence when the command line is wrong. */
export function readArguments(args: string[], scenariosOf: (kind: Kind) => string[]): BenchArguments {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: {
      quick: { type: 'boolean', default: false },
      only: { type: 'string', multiple: true, default: [] },
      anyway: { type: 'boolean', default: false },
      beside: { type: 'string' },
      dialect: { type: 'string', default: 'mayfly' },
      'beside-pid': { type: 'string' },
      rounds: { type: 'string' },
      seconds: { type: 'string' },
      folder: { type: 'string', default: '/var/tmp' },
      other: { type: 'string' },
      mebibytes: { type: 'string', default: '512' },
      namespace: { type: 'string' },
      address: { type: 'string', default: '127.0.0.1' },
    },
  });
  const [first = 'all', ...more] = positionals;
  const kind = KINDS.find((known) => known === first);
  if (!kind || more.length > 0) throw new Error(`there is ${KINDS.join(', ')}, and one at a time`);
  const scenarios = scenariosOf(kind);
  const unknown = values.only.find((name) => !scenarios.includes(name));
  if (unknown) throw new Error(`no scenario is called ${unknown}: there are ${scenarios.join(', ')}`);
  if ((kind === 'beside') !== (values.other !== undefined) && kind !== 'command-line')
    throw new Error('beside has --other, command-line may have it, and nothing else has it');
  if (values.beside && kind !== 'all' && kind !== 'split') throw new Error('--beside is for all and split');
  const [rounds, seconds] = values.quick
    ? ['1', '1']
    : ['beside', 'telemetry'].includes(kind)
      ? ['20', '1']
      : ['3', '5'];
  return {
    kind,
    isQuick: values.quick,
    only: values.only,
    rounds: positive('--rounds', values.rounds ?? rounds),
    seconds: positive('--seconds', values.seconds ?? seconds),
    isAnyway: values.anyway,
    peer: values.beside ? peerOf(values.beside, values.dialect, values['beside-pid']) : undefined,
    folder: values.folder,
    other: values.other,
    mebibytes: positive('--mebibytes', values.mebibytes),
    namespace: values.namespace,
    address: values.address,
  };
}

function peerOf(url: string, name: string, pid: string | undefined): Target {
  const dialect = DIALECTS.find((known) => known === name);
  if (!dialect) throw new Error(`--dialect is one of ${DIALECTS.join(', ')}`);
  return {
    name: 'peer',
    url: new URL(url).origin,
    dialect,
    processes: pid ? { peer: positive('--beside-pid', pid) } : {},
  };
}

function positive(name: string, text: string): number {
  const number = Number(text);
  if (!Number.isInteger(number) || number < 1) throw new Error(`${name} is a whole number from 1`);
  return number;
}
