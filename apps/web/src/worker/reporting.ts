import type { MayflyError } from '@mayfly/client';
import type { Task } from './task.ts';
import { throttled } from './throttle.ts';

/** What a transfer that goes on by itself tells the page. */
export function reporting({ report, again }: Task, phase: 'sending' | 'receiving') {
  // The page hears that the browser is online; not every browser tells its workers. An end of the task ends this, too.
  const wake = () => dispatchEvent(new Event('online'));
  return {
    onProgress: throttled((doneBytes, totalBytes) => report({ kind: 'progress', phase, doneBytes, totalBytes })),
    onTrouble({ code }: MayflyError) {
      report({ kind: 'retrying', code });
      again().then(wake, () => {});
    },
  };
}
