import { argon2, randomBytes } from 'node:crypto';
import { promisify } from 'node:util';
import { type Challenge, solve } from '@mayfly/client/work';
import { median } from './load.ts';

// What work for requests costs (contract 18): both sides, without a service. `node bench/src/work.ts [ROUNDS]`

const rounds = Number(process.argv[2] ?? 31);
const SALT = Buffer.from('mayfly:work:1');
const clock = { now: () => performance.now() };
const verify = promisify(argon2);
/** Milliseconds of all threads: what a busy machine does not change much. */
const cpu = () => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
};

const times = new Map<string, number[]>();
const add = (what: string, ms: number) => times.set(what, [...(times.get(what) ?? []), ms]);

for (let round = -1; round < rounds; round += 1) {
  const challenge: Challenge = {
    challenge: `${Date.now()}.8192.1.32.${randomBytes(16).toString('base64url')}.${randomBytes(32).toString('base64url')}`,
    memoryKiB: 8192,
    passes: 1,
    tries: 32,
    requests: 100,
    endsAt: '',
  };
  const [begun, begunCpu] = [clock.now(), cpu()];
  const header = (await solve(challenge, { until: Number.POSITIVE_INFINITY, clock })) ?? '';
  const [solved, solvedCpu] = [clock.now(), cpu()];
  const parameters = { message: Buffer.from(header), nonce: SALT, memory: 8192, passes: 1 };
  await verify('argon2id', { ...parameters, parallelism: 1, tagLength: 4 });
  const [verified, verifiedCpu] = [clock.now(), cpu()];
  if (round < 0) continue; // the first one loads the code
  const tries = Number(header.split('.').at(-1)) + 1;
  add('solve', solved - begun);
  add('one try', (solved - begun) / tries);
  add('one try, CPU', (solvedCpu - begunCpu) / tries);
  add('verify', verified - solved);
  add('verify, CPU', verifiedCpu - solvedCpu);
}
for (const [what, all] of times) {
  const sorted = all.toSorted((a, b) => a - b);
  const at = (share: number) => (sorted[Math.floor(share * (sorted.length - 1))] ?? 0).toFixed(1);
  console.log(`${what}: median ${median(all).toFixed(1)} ms, from ${at(0.1)} (10 %) to ${at(0.9)} (90 %)`);
}
