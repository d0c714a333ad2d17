import { MayflyClient, MayflyError, type Transport } from '@mayfly/client';
import { nodeTransport, readRefusal, whenBusy, whenCreating } from '@mayfly/client/node';
import type { FileRequests } from '@mayfly/client/requests';
import { collecting } from './collecting.ts';
import type { Config } from './config.ts';
import { CliError } from './exit-codes.ts';
import type { KeptRequests } from './own-request.ts';
import type { OwnedItems } from './owned.ts';
import type { Terminal } from './terminal.ts';
import type { UnfinishedSends } from './unfinished.ts';

/** Everything that a command needs of the world. */
export type Context = {
  env: Record<string, string | undefined>;
  config: Config;
  terminal: Terminal;
  owned: OwnedItems;
  unfinished: UnfinishedSends;
  requests: KeptRequests;
  signal: AbortSignal;
  /** Throws `aborted` when the signal does. */
  sleep: (ms: number) => Promise<void>;
};

/** What every command takes. */
export type CommonOptions = { server?: string; json?: boolean };

/** What everything takes that sends files. `parallel` is parts under way at most. */
export type SendingOptions = CommonOptions & { parallel?: number; qr?: boolean; notify?: string };

/** The service that new things go to. */
export function chosenServer({ env, config }: Context, { server }: CommonOptions): string {
  const chosen = server ?? (env.MAYFLY_SERVER || config.server);
  if (!chosen) {
    throw new CliError(
      'usage',
      'Which service? Use --server URL, set MAYFLY_SERVER, or put "server" in the config file',
    );
  }
  return chosen;
}

/** A client of a service. Warns when tokens and the page of the link would go over the network in the open. */
export function openClient(terminal: Terminal, baseUrl: string, transport = openTransport(terminal)): MayflyClient {
  const client = new MayflyClient({ baseUrl, transport });
  if (new URL(baseUrl).protocol === 'http:' && !isOnThisMachine(baseUrl)) {
    terminal.say('Warning: this address is not HTTPS, so others on the network can use up or delete what is sent.');
  }
  return client;
}

/** Loaded when a command needs it: it brings HPKE. */
export async function openRequests(
  terminal: Terminal,
  baseUrl: string,
  transport = openTransport(terminal),
): Promise<FileRequests> {
  const { FileRequests } = await import('@mayfly/client/requests');
  return new FileRequests({ baseUrl, transport });
}

/** How every command's requests travel. Where it has to work for a place, it says so, once. */
function openTransport({ say }: Pick<Terminal, 'say'>): Transport {
  let isSaid = false;
  return whenBusy(collecting(nodeTransport()), {
    onWork() {
      if (!isSaid) say('The service is busy with requests from your network. Working to be let in ...');
      isSaid = true;
    },
  });
}

/** For the service that was chosen, and no other: where creating takes a key, it is MAYFLY_KEY. */
export function creatingTransport({ env: { MAYFLY_KEY }, terminal }: Context): Transport {
  const plain = openTransport(terminal);
  const transport = MAYFLY_KEY ? whenCreating(plain, async () => ({ Authorization: `Bearer ${MAYFLY_KEY}` })) : plain;
  return {
    ...transport,
    async send(request) {
      const answer = await transport.send(request);
      if (answer.status !== 401) return answer;
      const body = (await readRefusal(answer)) as { error?: unknown } | undefined;
      const message = whyRefused(body?.error, MAYFLY_KEY);
      if (message) throw new MayflyError('wrong-token', { status: 401, message });
      return { ...answer, body: new Blob([JSON.stringify(body ?? null)]).stream() };
    },
  };
}

/** Why nothing was created, if it was for that. */
function whyRefused(error: unknown, key: string | undefined): string | undefined {
  if (error === 'Creating needs a sign-in') return 'Sending to this service takes a sign-in, on its pages only';
  if (error !== 'Creating needs a key') return undefined;
  return key
    ? 'This service does not know the key in MAYFLY_KEY'
    : 'Sending to this service takes a key: set MAYFLY_KEY';
}

export function isOnThisMachine(baseUrl: string): boolean {
  return /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$|\.localhost$/.test(new URL(baseUrl).hostname);
}
