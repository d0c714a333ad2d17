/** What a client was told: `unknown` is no answer, or one that leaves open whether it happened. */
type Outcome = 'succeeded' | 'failed' | 'unknown';

/**
 * One operation of a client on one item (an upload or a note); `invoked` and `ended` are places in one order.
 * `digest` is that of the bytes sent (create) or received (use). Uses with the same `key` (an Idempotency-Key or a lease) are one.
 */
export type Operation = { invoked: number; ended: number; item: string; outcome: Outcome } & (
  | { kind: 'create'; limit: number; bytes: number; digest: string }
  | { kind: 'use'; key: string; digest?: string }
  | { kind: 'delete' }
);

/** What the service and its stores say once all is quiet: uses counted by item that is there, bytes held against the ceilings, and what is left over. */
export interface Afterwards {
  items: Map<string, { uses: number; digest: string }>;
  heldBytes: number;
  blobs: string[];
  leftOver: string[];
}

export interface Violation {
  rule: 'limit' | 'count' | 'lost' | 'corrupted' | 'deleted' | 'held' | 'left-over';
  item?: string;
  operations: Operation[];
}

/** Checks the history of items that do not expire while it lasts; empty if nothing contradicts the contract. */
export function checkHistory(history: Operation[], afterwards: Afterwards): Violation[] {
  const byItem = Map.groupBy(history, ({ item }) => item);
  const violations = [...byItem].flatMap(([item, operations]) => checkItem(item, operations, afterwards));

  const there = new Set(afterwards.items.keys());
  const strays = afterwards.blobs.filter((blob) => !there.has(blob));
  for (const item of [...strays, ...afterwards.leftOver]) {
    violations.push({ rule: 'left-over', item, operations: byItem.get(item) ?? [] });
  }
  const creates = history.filter((operation) => operation.kind === 'create');
  const stored = creates.filter(({ item }) => there.has(item)).reduce((sum, { bytes }) => sum + bytes, 0);
  if (afterwards.heldBytes !== stored) violations.push({ rule: 'held', operations: creates });
  return violations;
}

function checkItem(item: string, operations: Operation[], afterwards: Afterwards): Violation[] {
  const create = operations.find((operation) => operation.kind === 'create');
  if (!create) throw new Error(`The history uses ${item}, which nobody created`);
  const now = afterwards.items.get(item);
  const uses = operations.filter((operation) => operation.kind === 'use');
  const deletes = operations.filter((operation) => operation.kind === 'delete');
  const keys = (outcome: Outcome) => new Set(uses.filter((use) => use.outcome === outcome).map(({ key }) => key));
  const delivered = keys('succeeded');
  const perhaps = keys('unknown').difference(delivered).size;
  const most = delivered.size + perhaps;

  const deletedAt = Math.min(...deletes.filter(({ outcome }) => outcome === 'succeeded').map(({ ended }) => ended));
  const mayBeGone = most >= create.limit || deletes.some(({ outcome }) => outcome !== 'failed');
  const isWrong = (digest: string | undefined) => digest !== undefined && digest !== create.digest;

  const rules: [Violation['rule'], boolean][] = [
    ['limit', delivered.size > create.limit],
    ['count', now !== undefined && (now.uses < delivered.size || now.uses > most)],
    ['lost', create.outcome === 'succeeded' && !now && !mayBeGone],
    ['corrupted', isWrong(now?.digest) || uses.some(({ digest }) => isWrong(digest))],
    ['deleted', Number.isFinite(deletedAt) && (now !== undefined || wasUsedAfter(uses, deletedAt))],
  ];
  return rules.filter(([, isBroken]) => isBroken).map(([rule]) => ({ rule, item, operations }));
}

function wasUsedAfter(uses: Operation[], time: number): boolean {
  return uses.some(({ outcome, invoked }) => outcome === 'succeeded' && invoked > time);
}
