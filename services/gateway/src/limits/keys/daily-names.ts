import type { KeyObject } from 'node:crypto';
import type { Name } from '../admission.ts';
import { pseudonym, type SharedKeys } from './shared-keys.ts';

const DAY_MS = 86_400_000;
/** From so long before midnight the next day's key is known to all, so that clocks may differ by as much. */
const AHEAD_MS = 60_000;
/** A day's key and counts outlive their day by this much, for what is given back after midnight. */
const GRACE_MS = 300_000;

/** A pseudonym, and the one of the day that ends, around midnight. */
export type Pseudonym = { name: string; old: string | undefined };

/** The pseudonyms of one moment. Its identity changes when they do. */
export type Naming = { pseudonymOf(text: string): Pseudonym; isSwitched: boolean };

/**
 * Names under a key that changes at midnight (UTC). Around it both the old and the new name of a log are given, until
 * everything of the day before has left its window. Decision limits-kept-in-memory.
 */
export function dailyNames(keys: SharedKeys, longestWindowMs: number) {
  const overlapMs = Math.min(longestWindowMs, DAY_MS - 2 * AHEAD_MS);
  let last: { naming: Naming; from: number; until: number; version: number } | undefined;

  const keyOf = (day: number, time: number) => {
    const endsAt = (day + 1) * DAY_MS + overlapMs + GRACE_MS;
    return keys.get(`mayfly:limiter-key:${dateOf(day * DAY_MS)}`, Math.ceil((endsAt - time) / 1000));
  };

  async function compute(time: number): Promise<Naming> {
    const day = Math.floor(time / DAY_MS);
    const passedMs = time % DAY_MS;
    const begin = day * DAY_MS;
    const isNew = passedMs < overlapMs;
    const isEnding = passedMs >= DAY_MS - AHEAD_MS;
    const today = await keyOf(day, time);
    const other = isNew ? await keyOf(day - 1, time) : isEnding ? await keyOf(day + 1, time) : undefined;
    const naming = isEnding && other ? namesUnder(other, today, false) : namesUnder(today, other, true);
    const until = isNew ? begin + overlapMs : isEnding ? begin + DAY_MS : begin + DAY_MS - AHEAD_MS;
    last = { naming, from: time, until, version: keys.version() };
    return naming;
  }

  return (time: number): Naming | Promise<Naming> => {
    const isCurrent = last && last.version === keys.version() && time >= last.from && time < last.until;
    return last && isCurrent ? last.naming : compute(time);
  };
}

function namesUnder(key: KeyObject, old: KeyObject | undefined, isSwitched: boolean): Naming {
  return {
    isSwitched,
    pseudonymOf: (text) => ({ name: pseudonym(key, text), old: old && pseudonym(old, text) }),
  };
}

/** The name of what is kept about one or both of these. */
export function nameFrom(prefix: string, first: Pseudonym, second?: Pseudonym): Name {
  const name = (one: string, other = '') => (second ? `${prefix}${one}:${other}` : prefix + one);
  const isOne = first.old === undefined || (second && second.old === undefined);
  return { name: name(first.name, second?.name), old: isOne ? '' : name(first.old ?? '', second?.old) };
}

/** The one that counts by this process's clock: for what is not taken along to the next day. */
export const ofDay = ({ name, old }: Name, isSwitched: boolean) => (isSwitched || old === '' ? name : old);

/** 2026-01-31 */
export const dateOf = (time: number) => new Date(time).toISOString().slice(0, 10);

/** Until the UTC day is over. */
export const msToMidnight = (time: number) => DAY_MS - (time % DAY_MS);

/** How long what is counted for the day may stay. */
export const daySecondsLeft = (time: number) => Math.ceil((msToMidnight(time) + GRACE_MS) / 1000);
