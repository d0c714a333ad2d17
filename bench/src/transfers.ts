import { setTimeout as sleep } from 'node:timers/promises';
import { Connection, type Pace } from './connection.ts';
import { assertSuccess } from './load.ts';
import { AUTH_TOKEN, createUpload, get, limitsOf, removeUpload } from './messages.ts';

// Transfers that never end, in a process of their own: half of them send, half of them receive, each over and over.
//
//   node bench/src/transfers.ts URL TRANSFERS BYTES [BYTES_PER_SEC]
//
// With BYTES_PER_SEC they move so much together at most, each an equal part of it, evenly. Tells the process that has started it
// when all are under way, ends with it, and answers every message with the bytes that were moved until then.

const [url = '', count = '', bytes = '', rate] = process.argv.slice(2);
const [transfers, sizeBytes] = [Number(count), Number(bytes)];
const bytesPerMs = rate === undefined ? Number.POSITIVE_INFINITY : Number(rate) / transfers / 1_000;
const limits = await limitsOf(url);
/** A slow sender's bytes come in small pieces. */
const chunk = Buffer.alloc(rate === undefined ? 2 ** 20 : 2 ** 16, 'sealed bytes, as random as it takes ');
let movedBytes = 0;

/** Of one transfer. */
function pace(): Pace {
  let nextAt = 0;
  return (bytes) => {
    movedBytes += bytes;
    if (bytesPerMs === Number.POSITIVE_INFINITY) return undefined;
    const now = performance.now();
    nextAt = Math.max(nextAt, now) + bytes / bytesPerMs;
    return sleep(nextAt - now);
  };
}

async function send(connection: Connection, index: number): Promise<string> {
  const answer = await connection.exchange(createUpload(index, limits, chunk, sizeBytes));
  assertSuccess(answer);
  return (JSON.parse(answer.text) as { id: string }).id; // as the contract says
}

const first = await Connection.open(url);
let id = await send(first, 0);
first.close();
process.once('disconnect', () => process.exit(0));
process.on('message', () => process.send?.({ movedBytes }));
for (let index = 1; index <= transfers; index += 1) void work(await Connection.open(url, pace()), index);
process.send?.('under way');

async function work(connection: Connection, index: number) {
  for (;;) {
    if (index % 2 === 0) {
      const answer = await connection.exchange(get(`/api/download/${id}`, index, { 'X-Auth-Token': AUTH_TOKEN }));
      if (answer.status === 410)
        id = await send(connection, index); // all its downloads are used
      else assertSuccess(answer);
    } else await connection.exchange(removeUpload(index, await send(connection, index)));
  }
}
