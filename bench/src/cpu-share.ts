import { existsSync, mkdirSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const V1 = '/sys/fs/cgroup/cpu';
const V2 = '/sys/fs/cgroup';
const PERIOD_US = 100_000;

/**
 * Holds a process, from now on, to a share of one core by a control group of its own (Linux, cgroups 1 or 2, as root). Throws where
 * such a group cannot be made.
 */
export function holdToShare(stack: DisposableStack, pid: number, share: number) {
  const name = `mayfly-bench-${pid}`;
  const quota = Math.round(share * PERIOD_US);
  const isV1 = existsSync(join(V1, 'cpu.cfs_quota_us'));
  if (!isV1) writeFileSync(join(V2, 'cgroup.subtree_control'), '+cpu');
  const root = isV1 ? V1 : V2;
  const folder = join(root, name);
  mkdirSync(folder);
  stack.defer(() => {
    writeFileSync(join(root, 'cgroup.procs'), String(pid));
    rmdirSync(folder);
  });
  if (isV1) {
    writeFileSync(join(folder, 'cpu.cfs_period_us'), String(PERIOD_US));
    writeFileSync(join(folder, 'cpu.cfs_quota_us'), String(quota));
  } else writeFileSync(join(folder, 'cpu.max'), `${quota} ${PERIOD_US}`);
  writeFileSync(join(folder, 'cgroup.procs'), String(pid));
}
