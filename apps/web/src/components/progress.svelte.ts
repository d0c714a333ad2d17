/** What the tab says while something is under way. */
export const progress = $state({
  /** From 0 to 1; undefined when nothing is. */
  share: undefined as number | undefined,
});

/** Keeps the screen on until the returned function is called: a phone that goes to sleep stops what it sends. */
export function stayAwake(): () => void {
  let lock: Promise<WakeLockSentinel | undefined> | undefined;
  const hold = () => {
    // The browser lets go when the page is hidden, and may refuse when the battery is low.
    if (document.visibilityState === 'visible') lock = navigator.wakeLock?.request('screen').catch(() => undefined);
  };
  document.addEventListener('visibilitychange', hold);
  hold();
  return () => {
    document.removeEventListener('visibilitychange', hold);
    void lock?.then((held) => held?.release());
  };
}
