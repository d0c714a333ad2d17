import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

export type Request = {
  head: Buffer;
  /** Sent once, or over and over until so many bytes are sent. */
  body?: { chunk: Buffer; sizeBytes: number };
};

export type Answer = { status: number; bodyBytes: number; text: string };

/** Told of every piece of a body, of either direction; nothing more is moved until what it returns has resolved. */
export type Pace = (bytes: number) => Promise<unknown> | undefined;

/** Bodies up to here are kept as text; of larger ones the bytes are counted. */
const KEPT_BYTES = 64 * 1024;

/**
 * One keep-alive connection of the load generator. It reads answers with a Content-Length and no others, which makes it
 * many times cheaper than a complete client: the machine's time shall go to the service.
 */
export class Connection {
  readonly #socket: Socket;
  readonly #pace: Pace | undefined;
  #waiting: { resolve: (answer: Answer) => void; reject: (error: Error) => void } | undefined;
  #head = '';
  #answer: (Answer & { sizeBytes: number }) | undefined;
  #chunks: Buffer[] = [];

  static async open(url: string, pace?: Pace): Promise<Connection> {
    const { hostname, port } = new URL(url);
    const socket = connect({ host: hostname, port: Number(port || 80), noDelay: true });
    await once(socket, 'connect');
    return new Connection(socket, pace);
  }

  private constructor(socket: Socket, pace: Pace | undefined) {
    this.#socket = socket;
    this.#pace = pace;
    socket.on('data', (chunk: Buffer) => this.#read(chunk)); // no encoding is set
    socket.on('error', (error) => this.#waiting?.reject(error));
    socket.on('close', () => this.#waiting?.reject(new Error('the connection was closed before the answer')));
  }

  /** One request at a time. */
  async exchange({ head, body }: Request): Promise<Answer> {
    const answered = new Promise<Answer>((resolve, reject) => {
      this.#waiting = { resolve, reject };
    });
    if (body && body.sizeBytes === body.chunk.length) this.#socket.write(Buffer.concat([head, body.chunk]));
    else this.#socket.write(head);
    if (body && body.sizeBytes !== body.chunk.length) await Promise.race([this.#sendLarge(body), answered]);
    return answered;
  }

  close() {
    this.#waiting = undefined;
    this.#socket.destroy();
  }

  async #sendLarge({ chunk, sizeBytes }: NonNullable<Request['body']>) {
    for (let sent = 0; sent < sizeBytes; sent += chunk.length) {
      const part = sizeBytes - sent < chunk.length ? chunk.subarray(0, sizeBytes - sent) : chunk;
      if (!this.#socket.write(part)) await once(this.#socket, 'drain');
      await this.#pace?.(part.length);
    }
  }

  #read(chunk: Buffer) {
    let rest = chunk;
    if (!this.#answer) {
      this.#head += chunk.toString('latin1');
      const end = this.#head.indexOf('\r\n\r\n');
      if (end === -1) return;
      rest = chunk.subarray(chunk.length - (this.#head.length - end - 4));
      this.#answer = { ...parseHead(this.#head.slice(0, end)), bodyBytes: 0, text: '' };
      this.#head = '';
    }
    const answer = this.#answer;
    answer.bodyBytes += rest.length;
    const waiting = this.#pace?.(rest.length);
    if (waiting) {
      this.#socket.pause();
      void waiting.then(() => this.#socket.resume());
    }
    if (answer.sizeBytes <= KEPT_BYTES) this.#chunks.push(rest);
    if (answer.bodyBytes < answer.sizeBytes) return;
    answer.text = Buffer.concat(this.#chunks).toString();
    this.#chunks = [];
    this.#answer = undefined;
    const asking = this.#waiting;
    this.#waiting = undefined;
    asking?.resolve(answer);
  }
}

/** Throws for an answer without a Content-Length. */
export function parseHead(head: string): { status: number; sizeBytes: number } {
  const size = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1];
  if (size === undefined) throw new Error(`an answer has no Content-Length: ${head.split('\r\n')[0]}`);
  return { status: Number(head.slice(9, 12)), sizeBytes: Number(size) };
}
