// How the service is run, so that it takes little memory: what the process cannot set for itself. Decision
// process-memory; the Dockerfile says the same.

/** A young generation of half the usual size: less memory, and what many requests have open still fits in. */
export const NODE_ARGS = ['--max-semi-space-size=8'];

/** glibc: two heaps for all threads, and what is freed goes back to the system. */
export const ALLOCATION = {
  MALLOC_ARENA_MAX: '2',
  MALLOC_MMAP_THRESHOLD_: '131072',
  MALLOC_TRIM_THRESHOLD_: '131072',
};
