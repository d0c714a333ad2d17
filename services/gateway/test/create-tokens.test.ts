import { createSecretKey, randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { createTokens } from '../src/sign-in/create-tokens.ts';

const NOON = Date.UTC(2026, 5, 1, 12);

/** Gateways that share keys, as they do through Redis, and a clock. */
function gateways() {
  const keys = new Map<string, { key: ReturnType<typeof createSecretKey>; seconds: number }>();
  const clock = { now: NOON };
  const sharedKey = (name: string, seconds: number) => {
    const known = keys.get(name) ?? { key: createSecretKey(randomBytes(32)), seconds };
    keys.set(name, known);
    return known.key;
  };
  const open = (lifeSec = 3_600) => createTokens(sharedKey, lifeSec, () => clock.now);
  return { keys, clock, open };
}

test('a token says the same of a person each time, at every gateway, and shows nothing of them', async () => {
  const { open } = gateways();
  const [one, other] = [open(), open()];
  const subject = JSON.stringify(['https://id.example', 'anna']);
  const [first, second] = [await one.make(subject), await other.make(subject)];
  expect(first.token).not.toBe(second.token);
  const names = [await other.nameIn(first.token), await one.nameIn(second.token)];
  expect(names[0]).toMatch(/^[\w-]{43}$/);
  expect(names[1]).toBe(names[0]);
  expect(await one.nameIn((await one.make('bela')).token)).not.toBe(names[0]);
  const shown = Buffer.from(first.token.split('.')[1] ?? '', 'base64url');
  expect(shown.includes(Buffer.from(names[0] ?? '', 'base64url'))).toBe(false);
});

test('it ends when it says, and its key outlives it', async () => {
  const { open, clock, keys } = gateways();
  clock.now = Date.UTC(2026, 5, 1, 23, 30);
  const tokens = open();
  const { token, endsAt } = await tokens.make('anna');
  expect(endsAt.toISOString()).toBe('2026-06-02T00:30:00.000Z');
  clock.now = endsAt.getTime() - 1;
  expect(await tokens.nameIn(token)).toBeDefined();
  clock.now = endsAt.getTime();
  expect(await tokens.nameIn(token)).toBeUndefined();
  for (const { seconds } of keys.values()) expect(seconds).toBeGreaterThan(3_600);
});

test('nobody else can make one, or change one; what ends too late is not even looked at', async () => {
  const { open, keys, clock } = gateways();
  const tokens = open();
  const { token } = await tokens.make('anna');
  for (let place = 4; place < token.length - 1; place++) {
    const other = token[place] === '1' ? '2' : '1';
    expect(await tokens.nameIn(token.slice(0, place) + other + token.slice(place + 1)), String(place)).toBeUndefined();
  }
  expect(await tokens.nameIn((await gateways().open().make('anna')).token)).toBeUndefined();
  const before = keys.size;
  const late = `mfo_${clock.now + 86_400_000}.${token.split('.')[1]}`;
  expect(await tokens.nameIn(late)).toBeUndefined();
  for (const none of ['', 'mfo_', 'mfo_1.a', `${token}a`, ` ${token}`])
    expect(await tokens.nameIn(none)).toBeUndefined();
  expect(keys.size).toBe(before);
});
