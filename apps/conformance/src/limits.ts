import { answers, holds } from './expect.ts';
import type { Answer } from './http.ts';

/** What GET /api/config says and the cases go by. Contract: section 5. */
export type Limits = {
  maxFileSize: number;
  maxFilesPerUpload: number;
  expireOptionsSec: number[];
  downloadOptions: number[];
  noteMaxSize: number;
  noteExpireOptionsSec: number[];
  noteViewOptions: number[];
  createGuard?: string;
  viewRepeatSec?: number;
};

const NUMBERS = ['maxFileSize', 'maxFilesPerUpload', 'noteMaxSize'];
const LISTS = ['expireOptionsSec', 'downloadOptions', 'noteExpireOptionsSec', 'noteViewOptions'];
const isPositive = (value: unknown) => Number.isSafeInteger(value) && (value as number) >= 1;

/** Throws what is missing or no limit. */
export function checkLimits(given: unknown): Limits {
  const limits = (given ?? {}) as Record<string, unknown>;
  for (const name of NUMBERS) holds(`${name}, a positive integer`, isPositive(limits[name]), limits[name] ?? null);
  for (const name of LISTS) {
    const list = limits[name];
    const isList = Array.isArray(list) && list.length > 0 && list.every(isPositive);
    holds(`${name}, a list of positive integers`, isList, list ?? null);
  }
  return limits as Limits;
}

export function limitsOf(config: Answer): Limits {
  answers(config, 200);
  return checkLimits(config.json);
}

/** The smallest option that is not below this, else the largest one. */
export const optionFrom = (least: number, options: number[]) => {
  const sorted = options.toSorted((a, b) => a - b);
  return sorted.find((option) => option >= least) ?? (sorted.at(-1) as number);
};
