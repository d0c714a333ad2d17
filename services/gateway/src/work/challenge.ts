import { createHmac, type KeyObject, randomBytes, timingSafeEqual } from 'node:crypto';

/** Long enough to be solved on a slow phone, and for what it buys to be used. */
export const CHALLENGE_MS = 300_000;
/** The clocks of two gateways may differ by so much. */
const CLOCKS_MS = 60_000;

/** What a solution takes: a hash of this cost, so often on average. */
export type Price = { memoryKiB: number; passes: number; tries: number };

export type Solution = Price & {
  endsAt: number;
  /** Random: the challenge's own name. */
  id: string;
  /** All of the header, which is what was hashed. */
  text: string;
};

/** When it ends (milliseconds), memory, passes, tries, 16 random bytes, the signature, and the number that was found. */
const SOLUTION = /^((\d{1,15})\.(\d{1,7})\.(\d{1,3})\.(\d{1,9})\.([\w-]{22}))\.([\w-]{43})\.\d{1,12}$/;

/** The text of a new challenge, good for this client alone. */
export function makeChallenge(key: KeyObject, client: string, endsAt: number, price: Price): string {
  const { memoryKiB, passes, tries } = price;
  const text = `${endsAt}.${memoryKiB}.${passes}.${tries}.${randomBytes(16).toString('base64url')}`;
  return `${text}.${sign(key, text, client)}`;
}

/** When the challenge ends that this claims to solve; undefined when it has no such form, or has ended. */
export function endOf(header: string, now: number): number | undefined {
  const endsAt = Number(SOLUTION.exec(header)?.[2] ?? 0);
  const leftMs = endsAt - now;
  return leftMs > 0 && leftMs <= CHALLENGE_MS + CLOCKS_MS ? endsAt : undefined;
}

/** What it says, if its challenge was made with this key for this client. Whether it solves it is not looked at. */
export function readSolution(key: KeyObject, client: string, header: string): Solution | undefined {
  const [text, signed = '', endsAt, memoryKiB, passes, tries, id = '', signature = ''] = SOLUTION.exec(header) ?? [];
  if (text === undefined) return undefined;
  if (!timingSafeEqual(Buffer.from(signature), Buffer.from(sign(key, signed, client)))) return undefined;
  return {
    text,
    id,
    endsAt: Number(endsAt),
    memoryKiB: Number(memoryKiB),
    passes: Number(passes),
    tries: Number(tries),
  };
}

/** The client is signed and not said. */
function sign(key: KeyObject, text: string, client: string): string {
  return createHmac('sha256', key).update(`${text}\n${client}`).digest('base64url');
}
