import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { memoryBytes } from '@mayfly/testing/proc';
import type { BenchArguments } from './arguments.ts';
import type { Request } from './connection.ts';
import { type Measured, median, runLoad } from './load.ts';
import { limitsOf } from './messages.ts';
import { atMost, type Report } from './report.ts';
import { scenario, slowDownloads } from './scenarios.ts';
import { startSplit, startStores } from './service.ts';
import { columns } from './table.ts';

const IDLE_CLIENTS = 10_000;
const SLOW_DOWNLOADS = 1_000;
/** Others, who must not notice: not so many that they fill the machine by themselves. */
const OTHERS = 8;
const MOST_P99 = 2;
const WARM_UP_SEC = 20;

/** What others notice while thousands of clients hold connections that say nothing, or take downloads that they do not read. */
export async function measureCrowd(
  stack: AsyncDisposableStack,
  folder: string,
  { rounds, seconds, isQuick }: BenchArguments,
): Promise<Report> {
  const stores = await startStores(stack, folder, true);
  const [target] = await startSplit(stack, stores);
  if (!target) throw new Error('nothing was started');
  const { url } = target;
  const limits = await limitsOf(url);
  const [idle, slow] = isQuick ? [100, 10] : [IDLE_CLIENTS, SLOW_DOWNLOADS];
  const request = await scenario('info').prepare(url, limits, false);
  const stalled = await slowDownloads(url, limits, slow);
  const measure = async () => runLoad({ url, connections: OTHERS, seconds, request });
  const memory = () => {
    const bytes = ['gateway', 'files'].map((name) => memoryBytes(target.processes[name] ?? 0));
    return bytes.map((value) => value / 1e6);
  };
  await runLoad({ url, connections: OTHERS, seconds: isQuick ? 1 : WARM_UP_SEC, request });

  const before: Measured[] = [];
  const during: Measured[] = [];
  let held: number[] = [];
  for (let round = 1; round <= rounds; round++) {
    before.push(await measure());
    const sockets: Socket[] = [];
    try {
      for (let index = 0; index < idle; index += 100) {
        const batch = Array.from({ length: Math.min(100, idle - index) }, (_, nth) => request(index + nth));
        sockets.push(...(await Promise.all(batch.map((one) => ask(url, one)))));
      }
      for (let index = 0; index < slow; index += 20) {
        const batch = Array.from({ length: Math.min(20, slow - index) }, (_, nth) => stalled(index + nth));
        sockets.push(...(await Promise.all(batch.map((one) => ask(url, one)))));
      }
      during.push(await measure());
      held = memory();
    } finally {
      for (const socket of sockets) socket.destroy();
    }
    await sleep(2_000); // what they leave behind is put away
    console.log(`round ${round} of ${rounds}`);
  }
  const p99 = (measured: Measured[]) => median(measured.map(({ p99Ms }) => p99Ms));
  const perSec = (measured: Measured[]) => median(measured.map((load) => load.requests / load.seconds));
  const [gatewayMegabytes = 0, filesMegabytes = 0] = held;
  const ratio = p99(during) / p99(before);
  const figures = {
    idle,
    slow,
    before: { p99Ms: p99(before), requestsPerSec: perSec(before) },
    during: { p99Ms: p99(during), requestsPerSec: perSec(during), gatewayMegabytes, filesMegabytes },
  };
  const line = (name: string, measured: Measured[]) => [name, p99(measured).toFixed(1), perSec(measured).toFixed(0)];
  return {
    text: `${columns([['info for others', 'p99 ms', 'req/s'], line('alone', before), line(`beside ${idle} idle and ${slow} slow`, during)])}

Memory meanwhile: gateway ${gatewayMegabytes.toFixed(0)} MB, files ${filesMegabytes.toFixed(0)} MB`,
    figures,
    verdicts: [atMost(`p99 beside ${idle} idle clients and ${slow} slow downloads`, ratio, MOST_P99, 'x')],
  };
}

/** Sends a request and leaves its connection as soon as the answer has begun: nothing more is read. */
async function ask(url: string, { head }: Request): Promise<Socket> {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port) });
  socket.on('error', () => {}); // closed by the other side at the end of the round
  await once(socket, 'connect');
  socket.write(head);
  await once(socket, 'readable');
  const text = String(socket.read(15)); // reading stops here: what follows fills the buffers on the way
  if (!text.startsWith('HTTP/1.1 200')) throw new Error(`the service answered ${text}`);
  return socket;
}
