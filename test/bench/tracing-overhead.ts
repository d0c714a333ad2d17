import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { startCollector } from '../infra/collector.ts';
import setup from '../infra/global-setup.ts';
import { startShape } from '../infra/shapes.ts';
import { Api } from '../support/api.ts';

// What telemetry costs: four services side by side, asked in turns by the same clients. On Linux it tells the CPU time of each
// process per request, too, which a busy machine disturbs least.
// node test/bench/tracing-overhead.ts [rounds]

const ROUNDS = Number(process.argv[2] ?? 10);
const ROUND_MS = 1_000;
const CLIENTS = 16;

const stopStores = await setup();
const collector = await startCollector();
const tracing = (share: string) => ({
  ...collector.settings,
  OTEL_BSP_SCHEDULE_DELAY: '1000',
  OTEL_TRACES_SAMPLER: 'parentbased_traceidratio',
  OTEL_TRACES_SAMPLER_ARG: share,
});
const ways = {
  off: { OTEL_SDK_DISABLED: 'true' },
  'metrics only': {},
  '5 % of traces': tracing('0.05'),
  '100 % of traces': tracing('1'),
};

const contestants = [];
for (const [name, settings] of Object.entries(ways)) {
  const running = await startShape('all', { ...settings, LOG_LEVEL: 'warn', CLEANUP_INTERVAL_SEC: '3600' });
  const api = new Api(running.baseUrl);
  const { id } = await api.newUpload();
  contestants.push({
    name,
    running,
    url: `${running.baseUrl}/api/info/${id}`,
    rates: [] as number[],
    requests: 0,
    cpuMs: 0,
  });
}

/** Requests per second of GET /api/info/<id>: limits in Redis, one statement in PostgreSQL. */
async function round(url: string) {
  const since = performance.now();
  let count = 0;
  await Promise.all(
    Array.from({ length: CLIENTS }, async () => {
      while (performance.now() - since < ROUND_MS) {
        await (await fetch(url)).arrayBuffer();
        count++;
      }
    }),
  );
  return { count, rate: count / ((performance.now() - since) / 1000) };
}

for (const { url } of contestants) await round(url); // warm
/** CPU time that a process has had, in milliseconds; the kernel counts in hundredths of a second. */
function cpuMsOf(pid: number | undefined): number {
  if (process.platform !== 'linux') return Number.NaN;
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

for (let turn = 0; turn < ROUNDS; turn++) {
  for (const contestant of contestants) {
    const pid = contestant.running.processes[0]?.child.pid;
    const before = cpuMsOf(pid);
    const { rate, count } = await round(contestant.url);
    contestant.rates.push(rate);
    contestant.requests += count;
    contestant.cpuMs += cpuMsOf(pid) - before;
    await sleep(100);
  }
}
/** The median of the ratios of each round: both halves of a ratio met the same machine. */
const median = (values: number[]) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
const off = contestants[0]?.rates ?? [];
const perRequest = ({ cpuMs, requests }: { cpuMs: number; requests: number }) => cpuMs / requests;
const cpuOff = contestants[0] ? perRequest(contestants[0]) : Number.NaN;
for (const contestant of contestants) {
  const { name, rates } = contestant;
  const cpu = perRequest(contestant);
  const ratio = median(rates.map((rate, turn) => rate / (off[turn] ?? Number.NaN)));
  console.log(
    `${name}: ${Math.round(median(rates))} requests/s (${ratio.toFixed(2)} of off), CPU ${cpu.toFixed(2)} ms a request (${(cpu / cpuOff).toFixed(2)})`,
  );
}
for (const { running } of contestants) await running[Symbol.asyncDispose]();
await collector[Symbol.asyncDispose]();
await stopStores();
process.exit(0);
