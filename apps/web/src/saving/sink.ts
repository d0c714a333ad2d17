/** Where decrypted bytes go. One of `finish` and `discard` ends it. */
export type Sink = {
  writable: WritableStream<Uint8Array>;
  /** Aborts with the task, or when saving was stopped elsewhere. */
  signal: AbortSignal;
  /** Everything was whole: makes it a file. */
  finish(): Promise<File | Blob | undefined>;
  /** Nothing of it may stay. */
  discard(): Promise<void>;
};
