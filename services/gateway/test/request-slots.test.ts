import { createSecretKey } from 'node:crypto';
import { expect, test } from 'vitest';
import { requestSlots } from '../src/request-slots.ts';
import { freshConnection } from './start-gateway.ts';

const START = Date.UTC(2026, 0, 31, 23, 55);
const MINUTE = 60_000;
const AWAY = { set: () => Promise.reject(new Error('Redis is away')) };

/** The same key for the same name, as all replicas have it. */
const keyFor = (name: string) => createSecretKey(Buffer.from(name.padEnd(64)));

/** Slots whose clock a test sets. */
function slotsAt(time: number, redis: Parameters<typeof requestSlots>[0] = AWAY) {
  const clock = { time };
  return { clock, slots: requestSlots(redis, keyFor, () => clock.time) };
}

test('a slot is good for ten minutes, also across midnight', async () => {
  const { clock, slots } = slotsAt(START);
  const { slot, endsAt } = await slots.make();
  const other = await slots.make();
  expect(endsAt.getTime()).toBe(START + 10 * MINUTE);
  clock.time = START + 10 * MINUTE - 1;
  expect(await slots.spend(slot)).toBe(true);
  clock.time += 1;
  expect(await slots.spend(other.slot)).toBe(false);
});

test('what was changed in any place is none', async () => {
  const { slots } = slotsAt(START);
  const { slot } = await slots.make();
  const [ends = '', random = '', signature = ''] = slot.split('.');
  const changed = (text: string) => (text.startsWith('A') ? `B${text.slice(1)}` : `A${text.slice(1)}`);
  const forged = [
    `${Number(ends) + 1}.${random}.${signature}`,
    `${ends}.${changed(random)}.${signature}`,
    `${ends}.${random}.${changed(signature)}`,
    `${ends}.${random}.`,
    `${ends}.${random}`,
    `${slot}.`,
    ` ${slot}`,
    '',
    'x'.repeat(10_000),
  ];
  for (const text of forged) expect(await slots.spend(text)).toBe(false);
  expect(await slots.spend(slot)).toBe(true);
});

test('one process spends a slot once without Redis as well', async () => {
  const { slots } = slotsAt(START);
  const { slot } = await slots.make();
  const spent = await Promise.all(Array.from({ length: 50 }, () => slots.spend(slot)));
  expect(spent.filter(Boolean)).toHaveLength(1);
});

test('two processes spend it once together', async () => {
  await using stack = new AsyncDisposableStack();
  const redis = await freshConnection(stack);
  const [one, other] = [slotsAt(Date.now(), redis).slots, slotsAt(Date.now(), redis).slots];
  for (let i = 0; i < 20; i++) {
    const { slot } = await one.make();
    const spent = await Promise.all([one.spend(slot), other.spend(slot), one.spend(slot), other.spend(slot)]);
    expect(spent.filter(Boolean)).toHaveLength(1);
  }
});
