/** Where decrypted bytes go. One of `finish`, `discard` and, where there is a part, `leave` ends it. */
export type Sink = {
  writable: WritableStream<Uint8Array>;
  /** Aborts with the task, or when saving was stopped elsewhere. */
  signal: AbortSignal;
  /** Everything was whole: makes it a file. */
  finish(): Promise<File | Blob | undefined>;
  /** Nothing of it may stay. */
  discard(): Promise<void>;
  /** Of one that can be continued by another page. */
  part?: {
    /** Content that is there already: the rest is to be written. */
    startBytes: number;
    /** Makes what was written safe from a crash. How much that is, all in all. */
    save(): number;
    /** What was saved stays. */
    leave(): void;
  };
};
