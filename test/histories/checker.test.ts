import { expect, test } from 'vitest';
import { type Afterwards, checkHistory, type Found, type Operation } from './checker.ts';

// Recorded histories: one that is right, and the same with one fault planted.

const create: Operation = {
  kind: 'create',
  item: 'a',
  invoked: 0,
  ended: 1,
  outcome: 'succeeded',
  limit: 2,
  bytes: 10,
  digest: 'right',
};
const use = (key: string, time: number, outcome: Operation['outcome'] = 'succeeded', digest = 'right'): Operation => ({
  kind: 'use',
  item: 'a',
  key,
  invoked: time,
  ended: time + 1,
  outcome,
  ...(outcome === 'succeeded' && { digest }),
});
const remove = (time: number, outcome: Operation['outcome'] = 'succeeded'): Operation => ({
  kind: 'delete',
  item: 'a',
  invoked: time,
  ended: time + 1,
  outcome,
});
const there = (uses: number, digest = 'right'): Afterwards => ({
  items: new Map([['a', { uses, digest }]]),
  heldBytes: 10,
  blobs: ['a'],
  leftOver: [],
});
const gone: Afterwards = { items: new Map(), heldBytes: 0, blobs: [], leftOver: [] };
const terms = (time: number, limit: number, outcome: Operation['outcome'] = 'succeeded'): Operation => ({
  kind: 'terms',
  item: 'a',
  invoked: time,
  ended: time + 1,
  outcome,
  limit,
});
const found = (now: Partial<Found>): Afterwards => ({
  ...there(1),
  items: new Map([['a', { uses: 1, digest: 'right', ...now }]]),
});
/** A request: nothing that counts against the ceiling of uploads. */
const request: Operation = { ...create, limit: 1, bytes: 0, digest: 'right', staysWhenUsed: true };
const asked = (keys: string[]): Afterwards => ({
  ...gone,
  items: new Map([['a', { uses: keys.length, digest: 'right', keys }]]),
});

test.each<[string, Operation[], Afterwards]>([
  ['a use', [create, use('k', 2)], there(1)],
  ['an unknown use that happened', [create, use('k', 2, 'unknown')], there(1)],
  ['an unknown use that did not', [create, use('k', 2, 'unknown')], there(0)],
  ['an unknown use repeated with its key', [create, use('k', 2, 'unknown'), use('k', 4)], there(1)],
  ['all uses', [create, use('k', 2), use('l', 4)], gone],
  ['a last use that is unknown', [create, use('k', 2), use('l', 4, 'unknown')], gone],
  ['a use that began before the delete ended', [create, remove(2), use('k', 2)], gone],
  ['a delete that is unknown', [create, remove(2, 'unknown')], there(0)],
  ['a new limit', [create, use('k', 2), terms(4, 5)], found({ limit: 5 })],
  ['either of two new limits at once', [create, use('k', 2), terms(4, 5), terms(4, 3)], found({ limit: 5 })],
  [
    'a new limit of which nobody knows',
    [create, use('k', 2), terms(4, 5, 'unknown'), terms(6, 3)],
    found({ limit: 5 }),
  ],
  ['an upload that is over by its new limit', [create, use('k', 2), terms(4, 1, 'unknown')], gone],
  ['a request that is full', [request, use('k', 2)], asked(['k'])],
  ['the same drop again', [request, use('k', 2), use('k', 4)], asked(['k'])],
  ['an unknown create that did not happen', [{ ...create, outcome: 'unknown' }], gone],
])('nothing is wrong with %s', (_, history, afterwards) => {
  expect(checkHistory(history, afterwards)).toEqual([]);
});

test.each<[string, string, Operation[], Afterwards]>([
  ['a count lost after its commit', 'count', [create, use('k', 2)], there(0)],
  ['a use counted twice for one key', 'count', [create, use('k', 2, 'unknown'), use('k', 4)], there(2)],
  ['one use too many', 'limit', [create, use('k', 2), use('l', 4), use('m', 6)], gone],
  ['an acknowledged upload that is lost', 'lost', [create, use('k', 2)], gone],
  ['a failed delete that happened', 'lost', [create, remove(2, 'failed')], gone],
  ['a corrupted byte on the way', 'corrupted', [create, use('k', 2, 'succeeded', 'wrong')], there(1)],
  ['a corrupted byte afterwards', 'corrupted', [create], there(0, 'wrong')],
  ['a delete that comes back', 'deleted', [create, remove(2)], there(0)],
  ['a use after the delete', 'deleted', [create, remove(2), use('k', 4)], gone],
  ['held bytes that leaked', 'held', [create, remove(2)], { ...gone, heldBytes: 10 }],
  ['a blob of nothing', 'left-over', [create, remove(2)], { ...gone, blobs: ['a'] }],
  ['a refused create that happened', 'refused', [{ ...create, outcome: 'failed' }], there(0)],
  ['parts that are forgotten', 'lost', [{ ...create, outcome: 'unknown', isForgotten: true }], gone],
  ['a new limit that is forgotten', 'terms', [create, use('k', 2), terms(4, 5)], found({ limit: 2 })],
  ['an old limit that comes back', 'terms', [create, use('k', 2), terms(4, 5), terms(6, 3)], found({ limit: 5 })],
  ['more than the new limit', 'limit', [create, terms(2, 1), use('k', 4), use('l', 6)], gone],
  ['another drop than was told', 'count', [request, use('k', 2)], asked(['l'])],
  ['a full request that is gone', 'lost', [request, use('k', 2)], gone],
  ['more than the ceiling', 'ceiling', [create], { ...there(0), bytesOverCeiling: 1 }],
  ['a lease given back never', 'left-over', [create, use('k', 2)], { ...there(1), leftOver: ['lease of a'] }],
])('%s is found, and nothing else', (_, rule, history, afterwards) => {
  expect(checkHistory(history, afterwards).map((violation) => violation.rule)).toEqual([rule]);
});
