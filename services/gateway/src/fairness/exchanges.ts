import type { IncomingMessage, ServerResponse } from 'node:http';

/** A request that is under way, from its admission to the close of its answer. */
export type Exchange = {
  readonly client: string;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly startedAt: number;
  /** Its body is the payload of an upload. */
  readonly isPayload: boolean;
  /** What is given back when it is over. */
  onEnd?: () => void;
};

export type Exchanges = {
  readonly running: ReadonlySet<Exchange>;
  /** Undefined when the client has as many under way as it may. */
  begin(exchange: Pick<Exchange, 'client' | 'request' | 'response' | 'isPayload'>): Exchange | undefined;
  /** Does nothing when it is over already. */
  end(exchange: Exchange): void;
};

/** What is under way in this process, and how much of it each client has: `mostPerClient` at most (0: no limit). */
export function openExchanges(mostPerClient: number): Exchanges {
  const running = new Set<Exchange>();
  const perClient = new Map<string, number>();

  function end(exchange: Exchange) {
    if (!running.delete(exchange)) return;
    const others = (perClient.get(exchange.client) ?? 1) - 1;
    if (others === 0) perClient.delete(exchange.client);
    else perClient.set(exchange.client, others);
    exchange.onEnd?.();
  }

  return {
    running,
    begin(begun) {
      const { client, response } = begun;
      const others = perClient.get(client) ?? 0;
      if (mostPerClient > 0 && others >= mostPerClient) return undefined;
      const exchange: Exchange = { ...begun, startedAt: performance.now() };
      perClient.set(client, others + 1);
      running.add(exchange);
      response.once('close', () => end(exchange));
      return exchange;
    },
    end,
  };
}
