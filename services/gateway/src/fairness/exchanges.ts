import type { IncomingMessage, ServerResponse } from 'node:http';
import { whenClosed } from '../when-closed.ts';

/** How far one direction of an exchange has come, and how long it may still stand still. */
export type Direction = { movedBytes: number; patienceMs: number };
export type Watched = { body: Direction; answer: Direction };

/** A request that is under way, from its admission to the close of its answer. */
export type Exchange = {
  readonly client: string;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly startedAt: number;
  /** Its body is the payload of an upload. */
  readonly isPayload: boolean;
  /** What is given back when it is over. */
  onEnd: (() => void) | undefined;
  /** Its place among those that run; -1 when it is over. */
  place: number;
  /** The watch's own. */
  watched: Watched | undefined;
};

export type Exchanges = {
  readonly running: readonly Exchange[];
  /** Undefined when the client has as many under way as it may. */
  begin(exchange: Pick<Exchange, 'client' | 'request' | 'response' | 'isPayload'>): Exchange | undefined;
  /** Does nothing when it is over already. */
  end(exchange: Exchange): void;
};

/** What is under way in this process, and how much of it each client has: `mostPerClient` at most (0: no limit). */
export function openExchanges(mostPerClient: number): Exchanges {
  const running: Exchange[] = []; // a Set's outgrown tables would keep requests that are over alive for the collector
  const perClient = new Map<string, number>();

  function end(exchange: Exchange) {
    const { place, client } = exchange;
    if (place === -1) return;
    const last = running.pop();
    if (last && last !== exchange) {
      running[place] = last;
      last.place = place;
    }
    exchange.place = -1;
    const others = (perClient.get(client) ?? 1) - 1;
    if (others === 0) perClient.delete(client);
    else perClient.set(client, others);
    exchange.onEnd?.();
  }

  return {
    running,
    begin({ client, request, response, isPayload }) {
      const others = perClient.get(client) ?? 0;
      if (mostPerClient > 0 && others >= mostPerClient) return undefined;
      perClient.set(client, others + 1);
      const startedAt = performance.now();
      const place = running.length;
      const exchange = { client, request, response, isPayload, startedAt, place, onEnd: undefined, watched: undefined };
      running.push(exchange);
      whenClosed(response, () => end(exchange));
      return exchange;
    },
    end,
  };
}
