import { existsSync, mkdirSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const V1 = '/sys/fs/cgroup/cpu';
const V2 = '/sys/fs/cgroup';
const PERIOD_US = 100_000;

/** Throws with a sentence where control groups cannot be made. Before anything is started: it takes half a minute. */
export function assertShares() {
  try {
    const folder = join(root(), `mayfly-bench-${process.pid}`);
    mkdirSync(folder);
    rmdirSync(folder);
  } catch (cause) {
    throw new Error('replicas holds processes to a share of a core by control groups: run it on Linux, as root', {
      cause,
    });
  }
}

const isV1 = () => existsSync(join(V1, 'cpu.cfs_quota_us'));
const root = () => (isV1() ? V1 : V2);

/** Holds a process, from now on, to a share of one core by a control group of its own (cgroups 1 or 2). */
export function holdToShare(stack: DisposableStack, pid: number, share: number) {
  const quota = Math.round(share * PERIOD_US);
  if (!isV1()) writeFileSync(join(V2, 'cgroup.subtree_control'), '+cpu');
  const folder = join(root(), `mayfly-bench-${pid}`);
  mkdirSync(folder);
  stack.defer(() => {
    writeFileSync(join(root(), 'cgroup.procs'), String(pid));
    rmdirSync(folder);
  });
  if (isV1()) {
    writeFileSync(join(folder, 'cpu.cfs_period_us'), String(PERIOD_US));
    writeFileSync(join(folder, 'cpu.cfs_quota_us'), String(quota));
  } else writeFileSync(join(folder, 'cpu.max'), `${quota} ${PERIOD_US}`);
  writeFileSync(join(folder, 'cgroup.procs'), String(pid));
}
