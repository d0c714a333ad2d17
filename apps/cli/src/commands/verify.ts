import { MayflyError } from '@mayfly/client';
import { plural } from '../amounts.ts';
import type { CommonOptions, Context } from '../context.ts';
import { CliError } from '../exit-codes.ts';
import { jsonLine } from '../json-line.ts';
import { printableName } from '../printable.ts';
import { findRelease, type NamedRelease, shortId } from '../verify/release.ts';
import { type Difference, type Findings, verifyServer } from '../verify/verify-server.ts';

export type VerifyOptions = Omit<CommonOptions, 'server'> & {
  release?: string;
  /** Seconds between two looks; `true`: as long as usual. */
  watch?: number | true;
};

const WATCH_SEC = 900;
const MOST_LINES = 40;

/** Compares what a server serves with what was published. Ends with `different` as soon as something is not the same. */
export async function verify(context: Context, server: string, { release, watch, json = false }: VerifyOptions) {
  const { terminal, signal, sleep } = context;
  const origin = originOf(server);
  const named = await findRelease(release);
  for (;;) {
    try {
      tell(context, origin, named, await verifyServer(origin, named, signal), json);
    } catch (error) {
      if (!(error instanceof MayflyError && error.code === 'network') || watch === undefined) throw error;
      terminal.say(`${new Date().toISOString()} ${origin} cannot be reached`);
    }
    if (watch === undefined) return;
    await sleep((watch === true ? WATCH_SEC : watch) * 1000);
  }
}

function tell({ terminal }: Context, origin: string, named: NamedRelease, findings: Findings, isJson: boolean) {
  const { id, release } = named;
  const { checked, differences } = findings;
  const isSame = differences.length === 0;
  const at = new Date().toISOString();
  if (isJson) {
    terminal.print(
      jsonLine({ server: origin, version: release.version, release: id, at, isSame, checked, differences }),
    );
  } else if (isSame) {
    terminal.print(`${at} ${origin} serves Mayfly ${release.version} (${shortId(id)}) as it was published\n`);
    terminal.say(`${plural(checked, 'answer')} compared. Others may be sent something else; this is what came here.`);
  } else {
    const lines = linesOf(differences);
    const more = lines.length > MOST_LINES ? [`... and ${lines.length - MOST_LINES} more; --json has them all`] : [];
    terminal.print(`${[...lines.slice(0, MOST_LINES), ...more].join('\n')}\n`);
  }
  if (isSame) return;
  const count = new Set(differences.map(({ path }) => path)).size;
  throw new CliError(
    'different',
    `${origin} does not serve Mayfly ${release.version} (${shortId(id)}) as it was published: ${count === 1 ? '1 address differs' : `${count} addresses differ`}; ` +
      'if it runs another version, --release takes the release.json of that one',
  );
}

/** One line for what is the same for both browsers. */
function linesOf(differences: Difference[]): string[] {
  const byProblem = Object.groupBy(differences, ({ path, problem }) => `${path}: ${problem}`);
  return Object.entries(byProblem).map(
    ([line, found = []]) => `${printableName(line)} (${found.map(({ browser }) => browser).join(', ')})`,
  );
}

function originOf(server: string): string {
  const { protocol, origin } = URL.canParse(server) ? new URL(server) : { protocol: '', origin: '' };
  if (protocol === 'https:' || protocol === 'http:') return origin;
  throw new CliError('usage', `"${server}" is not the address of a service: https://mayfly.example`);
}
