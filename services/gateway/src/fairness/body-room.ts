import type { Exchange } from './exchanges.ts';

/** Bodies up to this size are what nearly all are, and are bounded by the number of requests. */
export const SMALL_BODY_BYTES = 16 * 1024;

type Waiting = { bytes: number; enter: () => void };
type Room = { bytes: number; queue: Waiting[] };

/**
 * How many bytes of bodies each client may have under way that a service collects in its memory. What is more waits for the
 * client's own others, so that many large notes at once are stored one after the other; a body is never too large when
 * it is alone.
 */
export function openBodyRoom(mostBytes: number, waitMs: number) {
  const rooms = new Map<string, Room>();

  const fits = (room: Room, bytes: number) => room.bytes === 0 || room.bytes + bytes <= mostBytes;

  function leave(client: string, room: Room, bytes: number) {
    room.bytes -= bytes;
    for (let next = room.queue[0]; next && fits(room, next.bytes); next = room.queue[0]) {
      room.queue.shift();
      room.bytes += next.bytes;
      next.enter();
    }
    if (room.bytes === 0) rooms.delete(client);
  }

  /** Resolves with whether there is room; false after `waitMs` without. It is left when the exchange ends. */
  return async function enter(exchange: Exchange, bytes: number): Promise<boolean> {
    const { client } = exchange;
    const room = rooms.get(client) ?? { bytes: 0, queue: [] };
    rooms.set(client, room);
    const leaveAtEnd = () => {
      exchange.onEnd = () => leave(client, room, bytes);
    };
    if (room.queue.length > 0 || !fits(room, bytes)) {
      return untilTurn(exchange, room, { bytes, enter: leaveAtEnd }, waitMs);
    }
    room.bytes += bytes;
    leaveAtEnd();
    return true;
  };
}

function untilTurn(exchange: Exchange, room: Room, { bytes, enter }: Waiting, waitMs: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const over = (isTurn: boolean) => {
    clearTimeout(timer);
    exchange.onEnd = undefined;
    if (isTurn) enter();
    else room.queue.splice(room.queue.indexOf(waiting), 1);
    resolve(isTurn);
  };
  const waiting = { bytes, enter: () => over(true) };
  const timer = setTimeout(over, waitMs, false);
  exchange.onEnd = () => over(false);
  room.queue.push(waiting);
  return promise;
}
