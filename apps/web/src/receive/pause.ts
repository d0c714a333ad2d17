/** Milliseconds between two questions how far an upload is: they become rarer. */
export const FIRST_PAUSE_MS = 5_000;
const LONGEST_PAUSE_MS = 30_000;
const GROWTH = 1.5;

export function nextPauseMs(lastMs: number): number {
  return Math.min(lastMs * GROWTH, LONGEST_PAUSE_MS);
}

type Page = { window: EventTarget; document: EventTarget & { readonly visibilityState: string } };

/** True when it ended early: the page is visible or online again, and its reader wants to know now. */
export function pause(ms: number, { window, document }: Page = globalThis): Promise<boolean> {
  return new Promise((resolve) => {
    const end = (isWoken: boolean) => {
      clearTimeout(timer);
      window.removeEventListener('online', wake);
      document.removeEventListener('visibilitychange', look);
      resolve(isWoken);
    };
    const wake = () => end(true);
    const look = () => document.visibilityState === 'visible' && wake();
    const timer = setTimeout(() => end(false), ms);
    window.addEventListener('online', wake);
    document.addEventListener('visibilitychange', look);
  });
}
