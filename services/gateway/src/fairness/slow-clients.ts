import type { Socket } from 'node:net';
import type { Direction, Exchange, Exchanges, Watched } from './exchanges.ts';

export type Rules = {
  /** The least rate, in bytes per second; 0 is none. */
  rateMin: number;
  /** How long a payload, and any answer, may stand still before it had to make up for it. */
  windowMs: number;
  /** The same for the body of any other request. */
  bodyWindowMs: number;
  /** How long anything may take; 0 is for ever. */
  longestMs: number;
};

/** `late`: the body came too slowly, or took too long, and nothing was answered yet. `stuck`: the answer was taken too slowly. */
export type Fault = 'late' | 'stuck';

const CHECK_MS = 1_000;

/**
 * Finds the clients that are too slow, once a second. Each direction of an exchange begins with a window of patience. Time in
 * which we wait for the client takes from it, and every byte that moves brings back what it may take at the least rate, up
 * to the window. So a client at the least rate is never cut, one that stands still is cut after a window, and time in which a
 * store or a service lets it wait costs it nothing. Decision least-rate.
 */
export function watchSlowClients(exchanges: Exchanges, rules: Rules, cut: (exchange: Exchange, fault: Fault) => void) {
  const checkMs = Math.min(CHECK_MS, rules.bodyWindowMs / 4, rules.windowMs / 4);
  let checkedAt = performance.now();

  const timer = setInterval(() => {
    const now = performance.now();
    // A process that was held up itself must not take that for the slowness of its clients.
    const waitedMs = Math.min(now - checkedAt, 2 * checkMs);
    checkedAt = now;
    for (const exchange of [...exchanges.running]) {
      // The answer to a pipelined request is never closed when its connection ends before its turn.
      if (exchange.request.socket.destroyed) exchanges.end(exchange);
      else {
        const fault = faultOf(exchange, now, waitedMs);
        if (fault) cut(exchange, fault);
      }
    }
  }, checkMs);
  timer.unref();
  return () => clearInterval(timer);

  function faultOf(exchange: Exchange, now: number, waitedMs: number): Fault | undefined {
    const { request, response, startedAt } = exchange;
    const { socket } = request;
    const isLate = waitsForBody(exchange);
    if (rules.longestMs > 0 && now - startedAt > rules.longestMs) return isLate ? 'late' : 'stuck';
    if (rules.rateMin === 0) return undefined;
    const { body, answer } = watchedOf(exchange);
    if (isOutOfPatience(body, socket.bytesRead, isLate ? waitedMs : 0, bodyWindowOf(exchange))) return 'late';
    // The answer to a pipelined request has no socket before its turn.
    const isStuck = response.socket !== null && response.writableLength > 0;
    return isOutOfPatience(answer, takenBytes(socket), isStuck ? waitedMs : 0, rules.windowMs) ? 'stuck' : undefined;
  }

  function isOutOfPatience(direction: Direction, bytes: number, waitedMs: number, windowMs: number): boolean {
    const earnedMs = ((bytes - direction.movedBytes) * 1000) / rules.rateMin;
    direction.movedBytes = bytes;
    direction.patienceMs = Math.min(direction.patienceMs + earnedMs, windowMs) - waitedMs;
    return direction.patienceMs < 0;
  }

  function watchedOf(exchange: Exchange): Watched {
    if (exchange.watched) return exchange.watched;
    const { socket } = exchange.request;
    exchange.watched = {
      body: { movedBytes: socket.bytesRead, patienceMs: bodyWindowOf(exchange) },
      answer: { movedBytes: takenBytes(socket), patienceMs: rules.windowMs },
    };
    return exchange.watched;
  }

  function bodyWindowOf({ isPayload }: Exchange): number {
    return isPayload ? rules.windowMs : rules.bodyWindowMs;
  }
}

/** Whether somebody reads the body and there is nothing to read: then its sender is who we wait for. */
function waitsForBody({ request }: Exchange): boolean {
  return !request.complete && request.readableFlowing !== null && request.readableLength === 0;
}

/**
 * What the system has taken for the client. Node's own count takes a piece for written when it begins to write it, and a slow
 * client may need minutes for a piece of a megabyte.
 */
function takenBytes(socket: Socket): number {
  const { _handle: handle } = socket as { _handle?: { bytesWritten: number; writeQueueSize: number } };
  return handle ? handle.bytesWritten - handle.writeQueueSize : socket.bytesWritten - socket.writableLength;
}
