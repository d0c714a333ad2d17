import { beforeAll } from 'vitest';

/**
 * Something that is opened before the tests of a suite, in the order in which it is written, and disposed of after them. The
 * function gives it; there is none yet while tests are collected.
 */
export function inSuite<Opened extends object>(open: () => Promise<Opened>): () => Opened {
  let opened: (Opened & Partial<AsyncDisposable>) | undefined;
  beforeAll(async () => {
    opened = await open();
    return () => opened?.[Symbol.asyncDispose]?.();
  });
  return () => {
    if (!opened) throw new Error('it is opened before the tests run, not while they are collected');
    return opened;
  };
}
