import type { ChosenFile } from '../worker/upload.ts';

/** What was dropped or pasted on a page, wherever on it: until the form for files has taken it. */
class TakenFiles {
  /** Files are being dragged over the page. */
  isOver = $state(false);
  isReading = $state(false);
  isUnreadable = $state(false);
  /** Empty for folders without a file. As they are: what Svelte wraps cannot be sent to a worker. */
  files = $state.raw<ChosenFile[]>();
}

export const taken = new TakenFiles();
