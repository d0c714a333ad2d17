/** What a client was told: `unknown` is no answer, or one that leaves open whether it happened. */
export type Outcome = 'succeeded' | 'failed' | 'unknown';

/**
 * One operation of a client on one item (an upload, a note or a file request). Uses with the same `key` (an Idempotency-Key, a lease,
 * the upload that is dropped) are one.
 */
export type Begun = { item: string } & (
  | Create
  | { kind: 'use'; key: string }
  | { kind: 'terms'; limit?: number; lifeSec?: number }
  /** Its owner deletes it, or lets it end now. */
  | { kind: 'delete' }
);
/** `staysWhenUsed`: at its limit it is still there. */
type Create = {
  kind: 'create';
  limit: number;
  bytes: number;
  digest: string;
  lifeSec?: number;
  staysWhenUsed?: boolean;
};
/** What came of it. `digest` is that of the bytes received; `isForgotten`: what had been acknowledged on the way to it was not there. */
export type End = { outcome: Outcome; digest?: string; isForgotten?: boolean };
/** `invoked` and `ended` are places in one order. */
export type Operation = Begun & End & { invoked: number; ended: number };

/** What the service says of an item; `keys` are those of its uses, where it knows them. */
export type Found = { uses: number; digest: string; limit?: number; lifeSec?: number; keys?: string[] };

/** What the service and its stores say once all is quiet: items that are there, bytes held against the ceilings, and what is left over. */
export interface Afterwards {
  items: Map<string, Found>;
  heldBytes: number;
  /** The most that uploads ever had together, as far as anybody looked, beyond their ceiling. */
  bytesOverCeiling?: number;
  blobs: string[];
  leftOver: string[];
}

export interface Violation {
  rule: 'limit' | 'count' | 'lost' | 'corrupted' | 'deleted' | 'refused' | 'terms' | 'held' | 'ceiling' | 'left-over';
  item?: string;
  operations: Operation[];
}

/** Checks the history of items that do not expire by themselves while it lasts; empty if nothing contradicts the contract. */
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
  if ((afterwards.bytesOverCeiling ?? 0) > 0) violations.push({ rule: 'ceiling', operations: creates });
  return violations;
}

/** Items of which no answer is missing: what became of them is known, whoever is asked. */
export function certainItems(history: Operation[]): Set<string> {
  const uncertain = history.filter(({ outcome }) => outcome === 'unknown').map(({ item }) => item);
  return new Set(history.map(({ item }) => item)).difference(new Set(uncertain));
}

function checkItem(item: string, operations: Operation[], afterwards: Afterwards): Violation[] {
  const create = operations.find((operation) => operation.kind === 'create');
  if (!create) throw new Error(`The history uses ${item}, which nobody created`);
  const now = afterwards.items.get(item);
  const uses = operations.filter((operation) => operation.kind === 'use');
  const deletes = operations.filter((operation) => operation.kind === 'delete');
  const writes = operations.filter((operation) => operation.kind === 'create' || operation.kind === 'terms');
  const keys = (outcome: Outcome) => new Set(uses.filter((use) => use.outcome === outcome).map(({ key }) => key));
  const delivered = keys('succeeded');
  const possible = delivered.union(keys('unknown'));
  const limits = lastOf(writes.map(({ limit, ...write }) => ({ ...write, value: limit })));
  const lives = lastOf(writes.map(({ lifeSec, ...write }) => ({ ...write, value: lifeSec })));
  const everLeast = Math.min(...writes.flatMap(({ limit, outcome }) => (outcome === 'failed' ? [] : (limit ?? []))));

  const deletedAt = Math.min(...deletes.filter(({ outcome }) => outcome === 'succeeded').map(({ ended }) => ended));
  const isUsedUp = !create.staysWhenUsed && possible.size >= everLeast;
  const mayBeGone = isUsedUp || deletes.some(({ outcome }) => outcome !== 'failed');
  const isWrong = (digest: string | undefined) => digest !== undefined && digest !== create.digest;
  const isNone = (all: Set<number>, value: number | undefined) => value !== undefined && !all.has(value);
  const known = new Set(now?.keys);

  const rules: [Violation['rule'], boolean][] = [
    ['limit', create.outcome !== 'failed' && delivered.size > Math.max(...limits)],
    ['count', now !== undefined && (now.uses < delivered.size || now.uses > possible.size)],
    ['count', now?.keys !== undefined && !(delivered.isSubsetOf(known) && known.isSubsetOf(possible))],
    ['lost', (create.outcome === 'succeeded' && !now && !mayBeGone) || operations.some((one) => one.isForgotten)],
    ['corrupted', isWrong(now?.digest) || uses.some(({ digest }) => isWrong(digest))],
    ['deleted', Number.isFinite(deletedAt) && (now !== undefined || wasUsedAfter(uses, deletedAt))],
    ['refused', create.outcome === 'failed' && now !== undefined],
    ['terms', isNone(limits, now?.limit) || isNone(lives, now?.lifeSec)],
  ];
  return rules.filter(([, isBroken]) => isBroken).map(([rule]) => ({ rule, item, operations }));
}

type Write = Pick<Operation, 'outcome' | 'invoked' | 'ended'> & { value: number | undefined };

/** Which values may have stayed: those that no other, asked for after their end, has certainly taken the place of. */
function lastOf(writes: Write[]): Set<number> {
  const made = writes.filter(({ outcome, value }) => outcome !== 'failed' && value !== undefined);
  const isOver = ({ outcome, ended }: Write) =>
    outcome === 'succeeded' && made.some((later) => later.outcome === 'succeeded' && later.invoked > ended);
  return new Set(made.flatMap((write) => (isOver(write) ? [] : (write.value ?? []))));
}

function wasUsedAfter(uses: Operation[], time: number): boolean {
  return uses.some(({ outcome, invoked }) => outcome === 'succeeded' && invoked > time);
}
