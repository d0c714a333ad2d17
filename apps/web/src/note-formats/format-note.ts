import type { Tree } from './tree.ts';

export type FormatRequest = {
  contentType: 'markdown' | 'code';
  text: string;
  /** Of code; guessed when absent. */
  language?: string | undefined;
};

export type FormatAnswer = {
  trees: Tree[];
  /** Of code, when it is known or could be guessed. */
  language: string | undefined;
  /** What a reader may choose instead. */
  languages: string[];
};

/** Starts format-worker.ts; how, is for the bundler and the page's policy to say. */
export type StartWorker = () => {
  onmessage: ((event: MessageEvent<FormatAnswer | undefined>) => void) | null;
  onerror: ((event: ErrorEvent) => void) | null;
  onmessageerror: ((event: MessageEvent) => void) | null;
  postMessage(request: FormatRequest): void;
  terminate(): void;
};

type Options = { startWorker: StartWorker; signal?: AbortSignal; timeoutMs?: number };

/** What a note looks like; undefined when that cannot be said in time or was stopped: then its text is shown as it is. */
export async function formatNote(
  request: FormatRequest,
  { startWorker, signal, timeoutMs = 10_000 }: Options,
): Promise<FormatAnswer | undefined> {
  const worker = startWorker();
  let timer: ReturnType<typeof setTimeout> | undefined;
  try {
    return await new Promise<FormatAnswer | undefined>((resolve) => {
      const giveUp = () => resolve(undefined);
      worker.onmessage = ({ data }) => resolve(data);
      worker.onerror = giveUp;
      worker.onmessageerror = giveUp;
      timer = setTimeout(giveUp, timeoutMs);
      signal?.addEventListener('abort', giveUp);
      worker.postMessage(request);
    });
  } finally {
    clearTimeout(timer);
    worker.terminate();
  }
}
