import type { Figures } from './measure.ts';

export type Verdict = { goal: string; figure: string; isMet: boolean };

/** What the closest peer did on a machine on which a bare Fastify answered so many requests a second. */
const PEER_FASTIFY_PER_SEC = 45_800;
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
const LARGE = {
  'upload-1g': { reference: 'sink', ratio: 0.9, cpuPerGigabyte: 2.0 },
  'download-1g': { reference: 'reader', ratio: 0.85, cpuPerGigabyte: 0.7 },
};
const IDLE_MB = 130;
const LOADED_MB = 200;

/** Judges what was measured; a goal whose figures were not measured in this run is left out. */
export function judge(all: Figures[], target: string, idleMegabytes: number | undefined): Verdict[] {
  const find = (scenario: string, name = target) => all.find((row) => row.scenario === scenario && row.target === name);
  const verdicts: Verdict[] = [];
  const atMost = (goal: string, figure: number | undefined, limit: number, unit: string) => {
    if (figure !== undefined)
      verdicts.push({ goal: `${goal} at most ${limit} ${unit}`, figure: show(figure), isMet: figure <= limit });
  };
  const atLeast = (goal: string, figure: number, limit: number) =>
    verdicts.push({ goal: `${goal} at least ${show(limit)}`, figure: show(figure), isMet: figure >= limit });

  for (const [scenario, limit] of Object.entries(CPU_PER_THOUSAND)) {
    atMost(scenario, find(scenario)?.cpuPerThousand, limit, 'CPU s per 1,000');
  }
  for (const [scenario, peer] of Object.entries(PEER)) {
    const row = find(scenario);
    if (!row) continue;
    if ('cpu' in peer) atMost(scenario, row.cpuPerThousand, peer.cpu / 2, 'CPU s per 1,000 (half of the peer)');
    const fastify = all.find(({ target: name }) => name === 'fastify');
    if (!fastify) continue;
    const scale = fastify.requestsPerSec / PEER_FASTIFY_PER_SEC;
    atLeast(
      `${scenario} requests/s, peer scaled by Fastify,`,
      row.requestsPerSec,
      peer.perSec * ('cpu' in peer ? 2 : 2.5) * scale,
    );
    if ('p99Ms' in peer)
      atMost(scenario, row.p99Ms, Math.round(peer.p99Ms / 2 / scale), 'ms p99 (half of the peer, scaled)');
  }
  for (const [scenario, { reference, ratio, cpuPerGigabyte }] of Object.entries(LARGE)) {
    const [row, beside] = [find(scenario), find(scenario, reference)];
    atMost(scenario, row?.cpuPerGigabyte, cpuPerGigabyte, 'CPU s per GB');
    if (row && beside)
      atLeast(`${scenario} of the speed of ${reference}`, row.megabytesPerSec / beside.megabytesPerSec, ratio);
  }
  atMost('memory idle', idleMegabytes, IDLE_MB, 'MB');
  const peaks = all.flatMap((row) => (row.target === target && row.peakMegabytes ? [row.peakMegabytes] : []));
  if (peaks.length > 0) atMost('memory under these loads', Math.max(...peaks), LOADED_MB, 'MB');
  return verdicts;
}

function show(figure: number): string {
  return figure >= 100 ? figure.toFixed(0) : figure.toPrecision(3);
}
