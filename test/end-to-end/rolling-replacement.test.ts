import { once } from 'node:events';
import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { unusedPort } from '@mayfly/local-stores/ports';
import { s3Blobs } from '@mayfly/testing/blobs';
import { type ServiceProcess, startReady } from '@mayfly/testing/shapes';
import { freshDatabase, freshFolder, freshRedis } from '@mayfly/testing/stores';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Load, startLoad, underWay } from '../support/load.ts';

/** How long after its signal a replica is still among a name's addresses, as a cluster's endpoints lag behind. */
const NAME_LAG_MS = 500;
const BALANCER_ASKS_EVERY_MS = 100;
/** Long enough for the balancer below to notice on a machine that is busy with other tests. */
const DRAIN = { DRAIN_MS: '5000', DRAIN_GRACE_MS: '120000' };

type Name = 'files' | 'notes';
type Replica = ServiceProcess & { address: string };

// Linux answers on every address of 127.0.0.0/8; replicas of one name need one port on several.
describe.skipIf(process.platform !== 'linux')('a rolling replacement under continuous load', () => {
  const stack = new AsyncDisposableStack();
  const names: Record<Name, string[]> = { files: [], notes: [] };
  const gateways: ServiceProcess[] = [];
  const replicas: Record<Name, Replica[]> = { files: [], notes: [] };
  let janitor: ServiceProcess;
  let start: (name: string, settings?: Record<string, string>) => Promise<ServiceProcess>;
  let publish: () => void;
  let startReplica: (name: Name) => Promise<Replica>;
  let startGateway: () => Promise<ServiceProcess>;
  let balancer: Awaited<ReturnType<typeof openBalancer>>;
  let load: Load;

  beforeAll(async () => {
    const database = stack.use(await freshDatabase({ hasTables: true }));
    const redis = stack.use(await freshRedis());
    const blobs = stack.use(await s3Blobs());
    const folder = stack.use(await freshFolder());
    const stores = { DATABASE_URL: database.url, REDIS_URL: redis.url, ...blobs.settings };

    const namesFile = join(folder.path, 'names.json');
    publish = () => {
      writeFileSync(`${namesFile}.new`, JSON.stringify({ 'files.test': names.files, 'notes.test': names.notes }));
      renameSync(`${namesFile}.new`, namesFile);
    };
    start = (name, settings = {}) => startReady(stack, name, { ...stores, ...DRAIN, ...settings });
    const ports: Record<Name, string> = { files: String(await unusedPort()), notes: String(await unusedPort()) };
    let addresses = 20;
    startReplica = async (name) => {
      const address = `127.0.0.${addresses++}`;
      return { ...(await start(name, { HOST: address, PORT: ports[name] })), address };
    };
    startGateway = () =>
      start('gateway', {
        FILES_URL: `http://files.test:${ports.files}`,
        NOTES_URL: `http://notes.test:${ports.notes}`,
        TEST_NAMES: namesFile,
        NODE_OPTIONS: `--import ${join(import.meta.dirname, '../support/name-server.ts')}`,
      });

    for (const name of ['files', 'notes'] as const) {
      for (let i = 0; i < 2; i++) replicas[name].push(await startReplica(name));
      names[name] = replicas[name].map(({ address }) => address);
    }
    publish();
    janitor = await start('janitor');
    for (let i = 0; i < 2; i++) gateways.push(await startGateway());
    balancer = stack.use(openBalancer(() => gateways));
    await balancer.ready;
    load = startLoad(balancer.next);
    stack.defer(() => load.stop());
    await sleep(2_000); // transfers are under way
  });
  afterAll(() => stack.disposeAsync());

  /** Asks a process to end; resolves when it has, with the moment of its signal. */
  async function retire({ child, output, name }: ServiceProcess): Promise<number> {
    const exited = once(child, 'exit');
    const at = performance.now();
    child.kill('SIGTERM');
    const [code] = await exited;
    expect(code, `${name}: ${output().slice(-500)}`).toBe(0);
    expect(output()).not.toContain('cut off');
    return at;
  }

  async function replaceReplicas(name: Name): Promise<number[]> {
    const moments: number[] = [];
    for (const old of [...replicas[name]]) {
      const fresh = await startReplica(name);
      replicas[name].push(fresh);
      names[name].push(fresh.address);
      publish();
      const retired = retire(old);
      await sleep(NAME_LAG_MS);
      names[name] = names[name].filter((address) => address !== old.address);
      publish();
      moments.push(await retired);
      replicas[name] = replicas[name].filter((one) => one !== old);
    }
    return moments;
  }

  async function replaceGateways(): Promise<number[]> {
    const moments: number[] = [];
    for (const old of [...gateways]) {
      gateways.push(await startGateway());
      moments.push(await retire(old));
      gateways.splice(gateways.indexOf(old), 1);
    }
    return moments;
  }

  test.each([
    ['files', () => replaceReplicas('files')],
    ['gateway', replaceGateways],
  ])('%s: transfers that are under way finish, and nobody notices', async (_, replace) => {
    const before = load.noteCalls;
    const moments = await replace();
    const last = load.uploads + load.downloads;
    await expect.poll(() => load.uploads + load.downloads, { timeout: 60_000 }).toBeGreaterThan(last + 7); // every worker goes on
    expect(load.failures).toEqual([]);
    expect(load.noteCalls).toBeGreaterThan(before);
    expect(moments.length).toBe(2);
    for (const at of moments) expect(underWay(load, at).length).toBeGreaterThan(0);
  });

  test('notes: nobody notices', async () => {
    const before = load.noteCalls;
    await replaceReplicas('notes');
    await expect.poll(() => load.noteCalls).toBeGreaterThan(before + 50);
    expect(load.failures).toEqual([]);
  });

  test('the janitor: nobody notices', async () => {
    const old = janitor;
    janitor = await start('janitor');
    await retire(old);
    expect(load.failures).toEqual([]);
  });

  test('all in all, nothing failed', async () => {
    await load.stop();
    console.log(
      `Replaced every process: ${load.uploads} uploads, ${load.downloads} downloads and ${load.noteCalls} note calls`,
      `succeeded, ${load.failures.length} failed`,
    );
    expect(load.failures).toEqual([]);
    expect(Math.min(load.uploads, load.downloads, load.noteCalls)).toBeGreaterThan(0);
  });
});

/** Chooses among the gateways that say that they are ready, as a load balancer does. */
function openBalancer(gateways: () => ServiceProcess[]) {
  const stopped = new AbortController();
  let ready: ServiceProcess[] = [];
  let turn = 0;
  const isReady = ({ adminUrl }: ServiceProcess) =>
    fetch(`${adminUrl}/readyz`).then(
      (answer) => answer.ok,
      () => false, // it has gone
    );
  const ask = async () => {
    const all = [...gateways()];
    const answers = await Promise.all(all.map(isReady));
    ready = all.filter((_, index) => answers[index]);
  };
  const asking = (async () => {
    while (!stopped.signal.aborted) {
      await ask();
      await sleep(BALANCER_ASKS_EVERY_MS);
    }
  })();
  return {
    ready: ask(),
    next(): string {
      turn = (turn + 1) % Math.max(ready.length, 1);
      const choice = ready[turn];
      if (!choice) throw new Error('no gateway is ready');
      return choice.url;
    },
    async [Symbol.asyncDispose]() {
      stopped.abort();
      await asking;
    },
  };
}
