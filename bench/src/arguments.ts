import { parseArgs } from 'node:util';

export const KINDS = ['all', 'split', 'beside', 'replicas', 'crowd', 'growth', 'telemetry', 'parts', 'leases'] as const;
export type Kind = (typeof KINDS)[number];

export const USAGE = `Usage: npm run bench -- [KIND] [--quick] [--only NAME]... [--rounds N] [--seconds N] [--url URL]... [--folder DIR] [--other DIR] [--mebibytes N] [--namespace NAME --address IP]

  KIND is one of:
  all, split   every scenario on one process (all), or on four
  beside       what one process of this code costs beside one of --other, in turns of --seconds (1), as often as --rounds (20)
  replicas     what two and four replicas add, each process held to a share of a core (root, cgroups)
  crowd        what others notice of thousands of idle and slow clients
  growth       what requests cost with 10 million rows in each table (several GB on the disk), and Redis with 100,000 clients
  telemetry    what metrics and traces cost a request, in turns of --seconds (1), as often as --rounds (20)
  parts        the same file sent in one piece and in parts, in turns
  leases       what a download under a lease costs beside a plain one, in turns, as often as --rounds
  --quick      one short round: to see that it works, not to cite
  --only       this scenario only; may be repeated
  --url        measure a service that runs there, too; its limits must let the load through
  --folder     where stores, payloads and the references' files lie while it runs (/var/tmp)
  --other      another checkout of this project, with its dependencies installed (for beside)
  --mebibytes  size of the file (for parts; 512)
  --namespace  the sender is in this network namespace, which knows the service as --address (for parts; root)`;

export type BenchArguments = {
  kind: Kind;
  isQuick: boolean;
  only: string[];
  rounds: number;
  seconds: number;
  urls: string[];
  folder: string;
  /** Another checkout of this project; only for `beside`. */
  other: string | undefined;
  /** Size of the file of `parts`. */
  mebibytes: number;
  /** Network namespace of the sender; only for `parts`. */
  namespace: string | undefined;
  /** Where services listen. */
  address: string;
};

/** Throws with a sentence when the command line is wrong. */
export function readArguments(args: string[], scenarios: string[]): BenchArguments {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: {
      quick: { type: 'boolean', default: false },
      only: { type: 'string', multiple: true, default: [] },
      url: { type: 'string', multiple: true, default: [] },
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
  const unknown = values.only.find((name) => !scenarios.includes(name));
  if (unknown) throw new Error(`no scenario is called ${unknown}: there are ${scenarios.join(', ')}`);
  if ((kind === 'beside') !== (values.other !== undefined))
    throw new Error('beside has --other, and nothing else has it');
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
    urls: values.url.map((url) => new URL(url).origin),
    folder: values.folder,
    other: values.other,
    mebibytes: positive('--mebibytes', values.mebibytes),
    namespace: values.namespace,
    address: values.address,
  };
}

function positive(name: string, text: string): number {
  const number = Number(text);
  if (!Number.isInteger(number) || number < 1) throw new Error(`${name} is a whole number from 1`);
  return number;
}
