// Memory of what streams through is given back as soon as it is copied: the garbage collector would let tens of megabytes of it lie about.

/** Of chunks that were made to be read once. */
const disposable = new WeakSet<ArrayBufferLike>();

/** The same chunk. Whoever has read it may give its memory back: nobody else has it. */
export function disposed<T extends Uint8Array>(chunk: T): T {
  disposable.add(chunk.buffer);
  return chunk;
}

/** Does nothing where the bytes are a piece of something larger, which others may read. */
export function release({ buffer, length }: Uint8Array): void {
  if (buffer instanceof ArrayBuffer && buffer.byteLength === length) buffer.transfer(0);
}

export function releaseDisposable(chunk: Uint8Array): void {
  if (disposable.has(chunk.buffer)) release(chunk);
}

/** The same stream, for a reader that has copied a chunk when it asks for the next one: then its memory is given back. */
export function releasing(
  stream: ReadableStream<Uint8Array>,
  giveBack = releaseDisposable,
): ReadableStream<Uint8Array> {
  const reader = stream.getReader();
  let before: Uint8Array | undefined;
  const pull = async (controller: ReadableStreamDefaultController<Uint8Array>) => {
    if (before) giveBack(before);
    const { value, done } = await reader.read();
    before = value;
    if (done) controller.close();
    else controller.enqueue(value);
  };
  return new ReadableStream({ pull, cancel: (reason) => reader.cancel(reason) }, { highWaterMark: 0 });
}
