import type { PartOptions } from '@mayfly/client';
import { printable } from './printable.ts';
import type { Progress } from './progress.ts';
import type { Terminal } from './terminal.ts';

/** For a transfer that goes on by itself: its line, and a sentence for each time that something is in its way. */
export function tellTrouble(terminal: Terminal, progress: Progress) {
  let isTroubled = false;
  return {
    onProgress(doneBytes, totalBytes) {
      isTroubled = false;
      progress.onProgress(doneBytes, totalBytes);
    },
    onTrouble({ message }) {
      if (isTroubled) return;
      isTroubled = true;
      progress.wipe();
      terminal.say(`${printable(message)}; trying again`);
    },
  } satisfies Pick<PartOptions, 'onProgress' | 'onTrouble'>;
}
