import { Resolver } from 'node:dns/promises';

/** All addresses of a name. Rejects when there is none, or when nobody tells in time. */
export type Names = (name: string) => Promise<string[]>;

const PATIENCE = { timeout: 1_000, tries: 2 };

/**
 * Asks the name servers themselves: the system's way would take one of Node's few threads for as long as a name server is silent, and keep
 * files waiting.
 */
export function askNameServers(): Names {
  const resolver = new Resolver(PATIENCE);
  return async (name) => {
    const answers = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]);
    const addresses = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
    if (addresses.length === 0) throw new Error('the name has no address');
    return addresses;
  };
}
