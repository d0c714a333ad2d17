import type { Figures } from './measure.ts';
import { atLeast, atMost, type Verdict } from './report.ts';
import type { Shape } from './service.ts';

/** Beside the closest peer in the same run: how many times as many requests, for which part of its processor time. */
const OF_PEER = {
  info: { perSec: 3.5, cpu: 0.3 },
  exists: { perSec: 3.5, cpu: 0.3 },
  'note-create': { perSec: 3.5, cpu: 0.3 },
  'note-view': { perSec: 3.5, cpu: 0.3 },
  'upload-64k': { perSec: 2, cpu: 0.6 },
  'download-64k': { perSec: 2.5, cpu: 0.4 },
  'upload-1m': { perSec: 1.5, cpu: 0.7 },
  'download-1m': { perSec: 2.5, cpu: 0.38 },
  'upload-1g': { perSec: 1.3, cpu: 0.7 },
  'download-1g': { perSec: 4.4, cpu: 0.2 },
};

const CPU_PER_THOUSAND = { info: 0.2, exists: 0.2, 'note-get': 0.2, 'note-create': 0.3, 'note-view': 0.3 };
const GATEWAY_CPU_PER_THOUSAND = 0.12;
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
  const peer = all.find((other) => other.scenario === scenario && other.target === 'peer');
  const ofPeer = OF_PEER[scenario as keyof typeof OF_PEER];
  if (peer && ofPeer) {
    verdicts.push(
      atLeast(`${scenario} requests/s of the peer`, row.requestsPerSec / peer.requestsPerSec, ofPeer.perSec),
    );
    if (cpuPerThousand !== undefined && peer.cpuPerThousand !== undefined)
      verdicts.push(atMost(scenario, cpuPerThousand / peer.cpuPerThousand, ofPeer.cpu, 'of the CPU of the peer'));
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
