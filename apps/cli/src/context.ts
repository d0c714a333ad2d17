import { MayflyClient, type Transport } from '@mayfly/client';
import { nodeTransport, whenCreating } from '@mayfly/client/node';
import type { FileRequests } from '@mayfly/client/requests';
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
export function openClient(terminal: Terminal, baseUrl: string, transport = nodeTransport()): MayflyClient {
  const client = new MayflyClient({ baseUrl, transport });
  if (new URL(baseUrl).protocol === 'http:' && !isOnThisMachine(baseUrl)) {
    terminal.say('Warning: this address is not HTTPS, so others on the network can use up or delete what is sent.');
  }
  return client;
}

/** Loaded when a command needs it: it brings HPKE. */
export async function openRequests(baseUrl: string, transport = nodeTransport()): Promise<FileRequests> {
  const { FileRequests } = await import('@mayfly/client/requests');
  return new FileRequests({ baseUrl, transport });
}

/** For the service that was chosen, and no other: where creating takes a key, it is MAYFLY_KEY. */
export function creatingTransport({ env: { MAYFLY_KEY } }: Context): Transport {
  const transport = nodeTransport();
  return MAYFLY_KEY ? whenCreating(transport, async () => ({ Authorization: `Bearer ${MAYFLY_KEY}` })) : transport;
}

export function isOnThisMachine(baseUrl: string): boolean {
  return /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$|\.localhost$/.test(new URL(baseUrl).hostname);
}
