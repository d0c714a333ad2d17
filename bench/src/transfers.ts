import { Connection } from './connection.ts';
import { assertSuccess } from './load.ts';
import { AUTH_TOKEN, createUpload, get, limitsOf, removeUpload } from './messages.ts';

// Transfers that never end, in a process of their own: half of them send, half of them receive, each over and over.
//
//   node bench/src/transfers.ts URL TRANSFERS BYTES
//
// Tells the process that has started it when all are under way, and ends with it.

const [url = '', count = '', bytes = ''] = process.argv.slice(2);
const [transfers, sizeBytes] = [Number(count), Number(bytes)];
const limits = await limitsOf(url);
const chunk = Buffer.alloc(2 ** 20, 'sealed bytes, as random as it takes ');

async function send(connection: Connection, index: number): Promise<string> {
  const answer = await connection.exchange(createUpload(index, limits, chunk, sizeBytes));
  assertSuccess(answer);
  return (JSON.parse(answer.text) as { id: string }).id; // as the contract says
}

const first = await Connection.open(url);
let id = await send(first, 0);
first.close();
process.once('disconnect', () => process.exit(0));
for (let index = 1; index <= transfers; index += 1) void work(await Connection.open(url), index);
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
