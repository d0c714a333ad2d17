import { median } from './load.ts';
import type { Figures } from './measure.ts';
import { atLeast, atMost, type Verdict } from './report.ts';
import type { Shape } from './service.ts';

/** What the closest peer did on a machine on which a bare Fastify answered so many requests a second. */
const PEER_FASTIFY_PER_SEC = 45_800;
type Peer = { perSec: number; cpu?: number; p99Ms?: number };
const PEER = {
  info: { perSec: 2_506 },
  exists: { perSec: 3_182 },
  'note-get': { perSec: 2_035 },
  'note-create': { perSec: 2_443 },
  'note-view': { perSec: 1_342, p99Ms: 88 },
  'upload-64k': { perSec: 797, cpu: 1.8 },
  'upload-1m': { perSec: 248, cpu: 5.5 },
  'download-1m': { perSec: 319, cpu: 4.1 },
};

const CPU_PER_THOUSAND = { info: 0.2, exists: 0.2, 'note-get': 0.2, 'note-create': 0.3, 'note-view': 0.3 };
const GATEWAY_CPU_PER_THOUSAND = 0.1;
const LARGE = {
  'upload-1g': { reference: 'sink', ratio: 0.9, cpuPerGigabyte: 2.0 },
  'download-1g': { reference: 'reader', ratio: 0.85, cpuPerGigabyte: 0.7 },
};
const IDLE_MB = 130;
const LOADED_MB = 200;

/** Judges what was measured; a goal whose figures were not measured in this run is left out. */
export function judge(all: Figures[], shape: Shape, idleMegabytes: number | undefined): Verdict[] {
  const own = all.filter(({ target }) => target === shape);
  return shape === 'split'
    ? own.flatMap(judgeSplit)
    : [...own.flatMap((row) => judgeAll(row, all)), ...judgeMemory(own, idleMegabytes)];
}

/** One process against what it may cost, against the peer, and against what Node alone does in the same run. */
function judgeAll(row: Figures, all: Figures[]): Verdict[] {
  const verdicts: Verdict[] = [];
  const { scenario, cpuPerThousand, cpuPerGigabyte } = row;
  const limit = CPU_PER_THOUSAND[scenario as keyof typeof CPU_PER_THOUSAND];
  if (limit !== undefined && cpuPerThousand !== undefined)
    verdicts.push(atMost(scenario, cpuPerThousand, limit, 'CPU s per 1,000'));
  const peer: Peer | undefined = PEER[scenario as keyof typeof PEER];
  if (peer?.cpu && cpuPerThousand !== undefined)
    verdicts.push(atMost(scenario, cpuPerThousand, peer.cpu / 2, 'CPU s per 1,000 (half of the peer)'));
  const scale = scaleOf(scenario, all);
  if (peer && scale) {
    const wanted = peer.perSec * (peer.cpu ? 2 : 2.5) * scale;
    verdicts.push(atLeast(`${scenario} requests/s, peer scaled by Fastify,`, row.requestsPerSec, wanted));
    if (peer.p99Ms)
      verdicts.push(
        atMost(scenario, row.p99Ms, Math.round(peer.p99Ms / 2 / scale), 'ms p99 (half of the peer, scaled)'),
      );
  }
  const large = LARGE[scenario as keyof typeof LARGE];
  if (large && cpuPerGigabyte !== undefined)
    verdicts.push(atMost(scenario, cpuPerGigabyte, large.cpuPerGigabyte, 'CPU s per GB'));
  const beside = all.find((other) => other.scenario === scenario && other.target === large?.reference);
  if (large && beside)
    verdicts.push(
      atLeast(
        `${scenario} of the speed of ${beside.target}`,
        row.megabytesPerSec / beside.megabytesPerSec,
        large.ratio,
      ),
    );
  return verdicts;
}

/** How much faster than the peer's machine this one is: Fastify beside the scenario, else the median of all. */
function scaleOf(scenario: string, all: Figures[]): number | undefined {
  const fastify = all.filter(({ target }) => target === 'fastify');
  const beside = fastify.filter((row) => row.scenario === scenario);
  const perSec = (beside.length > 0 ? beside : fastify).map(({ requestsPerSec }) => requestsPerSec);
  return perSec.length > 0 ? median(perSec) / PEER_FASTIFY_PER_SEC : undefined;
}

function judgeMemory(own: Figures[], idleMegabytes: number | undefined): Verdict[] {
  const peaks = own.flatMap(({ peakMegabytesOf }) => Object.values(peakMegabytesOf));
  return [
    ...(idleMegabytes === undefined ? [] : [atMost('memory idle', idleMegabytes, IDLE_MB, 'MB')]),
    ...(peaks.length > 0 ? [atMost('memory under these loads', Math.max(...peaks), LOADED_MB, 'MB')] : []),
  ];
}

/** The gateway's part of small requests, and that large bodies pass in constant memory. */
function judgeSplit({ scenario, cpuPerThousandOf, peakMegabytesOf }: Figures): Verdict[] {
  const gateway = cpuPerThousandOf.gateway;
  if (scenario in CPU_PER_THOUSAND && gateway !== undefined)
    return [atMost(`gateway, ${scenario}`, gateway, GATEWAY_CPU_PER_THOUSAND, 'CPU s per 1,000')];
  if (!(scenario in LARGE)) return [];
  return ['gateway', 'files'].map((name) =>
    atMost(`${name}, ${scenario}, memory`, peakMegabytesOf[name] ?? 0, LOADED_MB, 'MB'),
  );
}
