const EVERY_MS = 100;

/** The same function, but not more often than a person can see; the last value of a series always comes through. */
export function throttled(report: (doneBytes: number, totalBytes: number) => void): typeof report {
  let lastMs = 0;
  return (doneBytes, totalBytes) => {
    const now = performance.now();
    if (doneBytes < totalBytes && now - lastMs < EVERY_MS) return;
    lastMs = now;
    report(doneBytes, totalBytes);
  };
}
