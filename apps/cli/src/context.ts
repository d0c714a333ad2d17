import { MayflyClient } from '@mayfly/client';
import { nodeTransport } from '@mayfly/client/node';
import type { Config } from './config.ts';
import { CliError } from './exit-codes.ts';
import type { OwnedItems } from './owned.ts';
import type { Terminal } from './terminal.ts';

/** Everything that a command needs of the world. */
export type Context = {
  env: Record<string, string | undefined>;
  config: Config;
  terminal: Terminal;
  owned: OwnedItems;
  signal: AbortSignal;
};

/** What every command takes. */
export type CommonOptions = { server?: string; json?: boolean };

/** The service that new things go to. */
export function chosenServer({ env, config }: Context, { server }: CommonOptions): string {
  const chosen = server ?? (env.MAYFLY_SERVER || config.server);
  if (!chosen) {
    throw new CliError(
      'usage',
      'Which service? Say --server URL, set MAYFLY_SERVER, or put "server" into the config file',
    );
  }
  return chosen;
}

/** A client of a service. Warns when tokens and the page of the link would go over the network in the open. */
export function openClient(terminal: Terminal, baseUrl: string): MayflyClient {
  const client = new MayflyClient({ baseUrl, transport: nodeTransport() });
  const { protocol, hostname } = new URL(baseUrl);
  const isHere = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$|\.localhost$/.test(hostname);
  if (protocol === 'http:' && !isHere) {
    terminal.say('Warning: this address has no https, so others on the way can delete or use up what is sent.');
  }
  return client;
}
