import type { ServerResponse } from 'node:http';
import { serviceUnavailable } from '@mayfly/shared/errors';
import { SMALL_LENGTH } from '@mayfly/store/notes';

/**
 * Of all large contents that are on their way at once, in characters of base64, as they are held and sent. Each takes its length
 * some three times until it is sent.
 */
const MOST_LENGTH = 16 * 1024 * 1024;

/** Tests set these; everybody else has the defaults. */
export type ViewPatience = {
  /** Then a client that waits for its turn is asked to come again. */
  turnMs: number;
  /** A client that does not read keeps its place no longer. */
  placeMs: number;
};

const PATIENCE: ViewPatience = { turnMs: 20_000, placeMs: 5_000 };

/**
 * Lets views of large notes go a few at a time, and small ones at once, so that many at once do not take the memory of the
 * process. The returned function resolves when a view may go, and rejects with 503 when it was not its turn in time, or the
 * client has left; nothing is counted then.
 */
export function largeViews({ turnMs, placeMs } = PATIENCE) {
  const queue: { contentLength: number; go: () => void }[] = [];
  let onTheWay = 0;
  const letGo = () => {
    // One alone may always go, however large it is.
    while (queue[0] && (onTheWay === 0 || onTheWay + queue[0].contentLength <= MOST_LENGTH)) {
      const { contentLength, go } = queue[0];
      queue.shift();
      onTheWay += contentLength;
      go();
    }
  };
  return async (contentLength: number, response: ServerResponse): Promise<void> => {
    if (contentLength <= SMALL_LENGTH) return;
    if (response.destroyed) throw serviceUnavailable(new Error('the client has gone'));
    const turn = Promise.withResolvers<void>();
    const place = { contentLength, go: turn.resolve };
    queue.push(place);
    letGo();
    const leave = () => {
      const at = queue.indexOf(place);
      if (at === -1) return;
      queue.splice(at, 1);
      turn.reject(serviceUnavailable(new Error('too many large notes are viewed at once')));
    };
    const timer = setTimeout(leave, turnMs);
    response.once('close', leave);
    await turn.promise.finally(() => {
      clearTimeout(timer);
      response.off('close', leave);
    });
    const giveBack = () => {
      clearTimeout(placeTimer);
      response.off('close', giveBack);
      onTheWay -= contentLength;
      letGo();
    };
    const placeTimer = setTimeout(giveBack, placeMs);
    response.once('close', giveBack);
  };
}
