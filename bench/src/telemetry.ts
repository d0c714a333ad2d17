import { startCollector } from '@mayfly/testing/collector';
import type { BenchArguments } from './arguments.ts';
import { median, runLoad } from './load.ts';
import { measureRound, type Round } from './measure.ts';
import { limitsOf } from './messages.ts';
import type { Report } from './report.ts';
import { scenario } from './scenarios.ts';
import { startAll, startStores } from './service.ts';
import { columns } from './table.ts';

const CONNECTIONS = 16;
const WARM_UP_SEC = 3;

/** What telemetry costs a request: services without it, with metrics and with traces, side by side on the same stores, in turns. */
export async function measureTelemetry(
  stack: AsyncDisposableStack,
  folder: string,
  { rounds, seconds, isQuick }: BenchArguments,
): Promise<Report> {
  const stores = await startStores(stack, folder);
  const collector = stack.use(await startCollector());
  const tracing = (share: string) => ({
    ...collector.settings,
    OTEL_BSP_SCHEDULE_DELAY: '1000',
    OTEL_TRACES_SAMPLER: 'parentbased_traceidratio',
    OTEL_TRACES_SAMPLER_ARG: share,
  });
  const ways = Object.entries({
    none: { OTEL_SDK_DISABLED: 'true' },
    metrics: {},
    'metrics, 5 % of traces': tracing('0.05'),
    'metrics, all traces': tracing('1'),
  });
  const targets = [];
  for (const [, settings] of ways) {
    const env = { ...stores.env, ...settings, LOG_LEVEL: 'warn', CLEANUP_INTERVAL_SEC: '3600' };
    targets.push(await startAll(stack, { ...stores, env }));
  }
  const url = targets[0]?.url ?? '';
  const request = await scenario('info').prepare(url, await limitsOf(url), isQuick);
  for (const target of targets) {
    await runLoad({ url: target.url, connections: CONNECTIONS, seconds: isQuick ? 1 : WARM_UP_SEC, request });
  }
  const measured = targets.map((): Round[] => []);
  for (let round = 1; round <= rounds; round++) {
    for (const [index, target] of targets.entries()) {
      measured[index]?.push(await measureRound(target, { connections: CONNECTIONS, seconds, request }));
    }
    console.log(`round ${round} of ${rounds}`);
  }
  const [none = []] = measured;
  const cpu = ({ cpuSec, requests }: Round) => ((cpuSec.all ?? 0) / requests) * 1_000;
  const figures = ways.map(([way], index) => {
    const own = measured[index] ?? [];
    return {
      way,
      cpuPerThousand: median(own.map(cpu)),
      // Both halves of a ratio met the same machine.
      ratio: median(own.map((round, turn) => cpu(round) / cpu(none[turn] ?? round))),
    };
  });
  const rows = figures.map(({ way, cpuPerThousand, ratio }) => [way, cpuPerThousand.toFixed(3), ratio.toFixed(2)]);
  return { text: columns([['telemetry', 'CPU s/1,000', 'of none'], ...rows]), figures, verdicts: [] };
}
