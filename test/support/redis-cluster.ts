import { randomBytes } from 'node:crypto';
import { findRedis } from '@mayfly/local-stores/find-redis';
import { freePort, onFreePort } from '@mayfly/local-stores/ports';
import { startServer } from '@mayfly/local-stores/server-process';
import { openRedis } from '@mayfly/shared/redis';
import { freshFolder } from '@mayfly/testing/stores';
import { untilTrue } from '@mayfly/testing/wire';
import { pino } from 'pino';

const SLOTS = 16_384;

type Node = { port: number; pid: number; id: string; call(...command: [string, ...string[]]): Promise<unknown> };

/** Three primaries with a replica each, which takes over when its primary has been silent for two seconds, and a user with some rights. */
export async function startRedisCluster(rights: string[]) {
  const stack = new AsyncDisposableStack();
  const password = randomBytes(12).toString('hex');
  const nodes: Node[] = [];
  for (let index = 0; index < 6; index++) nodes.push(await startNode(stack, password));
  const [first] = nodes as [Node];
  const primaries = nodes.slice(0, 3);
  for (const { port, bus } of (nodes as (Node & { bus: number })[]).slice(1)) {
    await first.call('CLUSTER', 'MEET', '127.0.0.1', String(port), String(bus));
  }
  for (const [index, node] of primaries.entries()) {
    const [from, to] = [index, index + 1].map((part) => Math.ceil((part * SLOTS) / 3)) as [number, number];
    const slots = Array.from({ length: to - from }, (_, slot) => String(from + slot));
    await node.call('CLUSTER', 'ADDSLOTS', ...slots);
  }
  const knowsAll = async (node: Node) => String(await node.call('CLUSTER', 'INFO')).includes('known_nodes:6');
  await untilTrue(async () => (await Promise.all(nodes.map(knowsAll))).every(Boolean), 30_000);
  for (const [index, node] of nodes.slice(3).entries()) {
    await node.call('CLUSTER', 'REPLICATE', primaries[index]?.id ?? '');
  }
  const isWell = async (node: Node) => {
    const info = String(await node.call('CLUSTER', 'INFO'));
    return /cluster_state:ok/.test(info) && String(await node.call('CLUSTER', 'NODES')).split('slave').length === 4;
  };
  const areWell = async (some: Node[]) => (await Promise.all(some.map(isWell))).every(Boolean);
  await untilTrue(() => areWell(nodes), 30_000);

  for (const node of nodes) await node.call('ACL', 'SETUSER', 'mayfly', 'on', `>${password}`, ...rights);

  return {
    url: `redis+cluster://mayfly:${password}@${primaries.map(({ port }) => `127.0.0.1:${port}`).join(',')}`,
    primaries,
    /** With all rights. */
    keysOf: (node: Node, pattern: string) => node.call('KEYS', pattern) as Promise<string[]>,
    /** The primary that has a slot. */
    async ownerOf(slot: number): Promise<Node | undefined> {
      const ranges = (await nodes.at(-1)?.call('CLUSTER', 'SLOTS')) as [number, number, [string, number]][];
      const [, , [, port]] = ranges.find(([from, to]) => from <= slot && slot <= to) ?? [0, 0, ['', 0]];
      return nodes.find((node) => node.port === port);
    },
    /** With all its keys, as an operator moves it: while it is under way, keys are on both. */
    async moveSlot(slot: number, from: Node, to: Node) {
      await to.call('CLUSTER', 'SETSLOT', String(slot), 'IMPORTING', from.id);
      await from.call('CLUSTER', 'SETSLOT', String(slot), 'MIGRATING', to.id);
      for (;;) {
        const keys = (await from.call('CLUSTER', 'GETKEYSINSLOT', String(slot), '1')) as string[];
        if (keys.length === 0) break;
        const move = ['127.0.0.1', String(to.port), '', '0', '5000', 'AUTH', password, 'KEYS'];
        await from.call('MIGRATE', ...move, ...keys);
      }
      for (const node of [to, from]) await node.call('CLUSTER', 'SETSLOT', String(slot), 'NODE', to.id);
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

async function startNode(stack: AsyncDisposableStack, password: string): Promise<Node & { bus: number }> {
  const { path: command } = await findRedis();
  const { path: folder } = stack.use(await freshFolder());
  const { port, bus, server } = await onFreePort(async (port) => {
    const bus = await freePort();
    const input = [
      'bind 127.0.0.1',
      `port ${port}`,
      `dir ${JSON.stringify(folder)}`,
      'cluster-enabled yes',
      `cluster-port ${bus}`, // not the port and 10,000: that may be none
      'cluster-node-timeout 2000',
      `requirepass ${password}`,
      `masterauth ${password}`,
      'save ""',
      'repl-diskless-load swapdb',
      'maxmemory-policy noeviction',
      '',
    ].join('\n');
    const env = { PATH: process.env.PATH, LC_ALL: 'C' };
    return { port, bus, server: await startServer({ name: 'Redis', command, args: ['-'], env, input }) };
  }, undefined);
  stack.defer(() =>
    server.stop([
      ['SIGCONT', 0],
      ['SIGKILL', 5_000],
    ]),
  );
  const config = { REDIS_URL: `redis://:${password}@127.0.0.1:${port}`, REDIS_TIMEOUT_MS: 5_000 };
  const { redis } = stack.use(openRedis(config, 'queue', pino({ level: 'silent' })));
  const call = (...given: [string, ...string[]]) => redis.call(...given);
  return { port, bus, pid: server.pid, id: String(await call('CLUSTER', 'MYID')), call };
}
