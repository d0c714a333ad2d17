import { randomUUID } from 'node:crypto';
import type { ServiceConfig, Transport } from '@mayfly/client';
import { serve } from './listen.ts';

type UploadParts = NonNullable<ServiceConfig['uploadParts']>;

export type Request = { method: string; path: string; headers: Record<string, string>; body: Buffer };
type Answer = { status: number; headers?: Record<string, string>; body: object | Buffer };

/** What goes wrong with a request: an answer instead, nothing that arrives, or an answer that is lost after the request was obeyed. */
export type Fault = Answer | 'cut' | 'lost answer' | undefined;

type Session = {
  partBytes: number;
  length: number | undefined;
  maxLength: number;
  upload: Record<string, string>;
  parts: Map<number, Buffer>;
  isComplete: boolean;
  /** Answers 202 until then. */
  looksWhileCompleting: number;
};

export const UPLOAD_PARTS: UploadParts = {
  minBytes: 1,
  maxBytes: 99_000_000,
  maxParts: 1000,
  maxFileSize: 5e9,
  sessionSec: 86_400,
};

const ENDS_AT = '2030-01-01T00:00:00.000Z';

const CONFIG = {
  maxFileSize: 1e9,
  maxFilesPerUpload: 10,
  expireOptionsSec: [86_400],
  downloadOptions: [1],
  noteMaxSize: 1_048_576,
  noteExpireOptionsSec: [86_400],
  noteViewOptions: [1],
  uploadParts: { ...UPLOAD_PARTS, maxBytes: 1_000_000 },
};

/** A service that keeps to the table of endpoints for uploads in parts, and to as much of the contract as a download needs. */
export class FakePartsService {
  readonly sessions = new Map<string, Session>();
  readonly requests: string[] = [];
  fault: (request: Request) => Fault = () => undefined;
  completingLooks = 0;
  /** Whether a request's connection breaks in the middle of its body; for `listen`. */
  isCut: (request: Omit<Request, 'body'>) => boolean = () => false;

  handle(request: Request): Answer {
    const { method, path, headers, body } = request;
    this.requests.push(`${method} ${path.replace(/[0-9a-f-]{36}/, 'ID')}`);
    const [, api, kind, id = '', step] = path.split('/');
    if (api !== 'api') return refuse(404, 'Not Found');
    if (kind === 'config') return { status: 200, body: CONFIG };
    if (kind === 'parts' && id === '') return this.#begin(headers);
    const session = this.sessions.get(id);
    if (!session) return refuse(404, 'Upload not found');
    if (kind === 'arrival' && isArriving(session)) return { status: 200, body: arrivalOf(session) };
    if (kind === 'info' && session.isComplete) return { status: 200, body: this.#info(id, session) };
    if (kind === 'download' && session.isComplete) return { status: 200, body: payloadOf(session) };
    if (kind !== 'parts') return refuse(404, 'Upload not found');
    if (headers['x-owner-token'] !== session.upload['x-owner-token'])
      return refuse(401, 'Invalid or missing owner token');
    if (method === 'DELETE') {
      this.sessions.delete(id);
      return { status: 200, body: { ok: true } };
    }
    if (method === 'GET') return { status: 200, body: this.#look(session) };
    if (step === 'complete') return this.#complete(id, session, JSON.parse(body.toString()));
    if (session.isComplete) return refuse(409, 'Upload is being completed');
    return storePart(session, Number(step), body);
  }

  #begin(headers: Record<string, string>): Answer {
    const id = randomUUID();
    const length = headers['x-upload-length'];
    const partBytes = Number(headers['x-part-bytes']);
    const maxLength = Number(length ?? headers['x-upload-length-max']);
    if (!(partBytes > 0 && maxLength > 0) || !headers['x-owner-token']) return refuse(400, 'Invalid request');
    this.sessions.set(id, {
      partBytes,
      length: length === undefined ? undefined : Number(length),
      maxLength,
      upload: headers,
      parts: new Map(),
      isComplete: false,
      looksWhileCompleting: this.completingLooks,
    });
    const parts = length === undefined ? null : Math.ceil(Number(length) / partBytes);
    return { status: 201, body: { id, url: `https://mayfly.example/d/${id}`, partBytes, parts, endsAt: ENDS_AT } };
  }

  #look(session: Session) {
    const { isComplete, partBytes, length, parts } = session;
    const state = isComplete ? 'complete' : 'open';
    const bytes = payloadOf(session).length;
    return { state, partBytes, length, stored: toRanges([...parts.keys()]), bytes, endsAt: ENDS_AT };
  }

  #complete(id: string, session: Session, said: { length: number; encryptedMeta: string; nonce: string }): Answer {
    const { partBytes, parts, length, maxLength } = session;
    const done = { status: 200, body: { id, url: `https://mayfly.example/d/${id}` } };
    if (session.isComplete) return done;
    const count = Math.ceil(said.length / partBytes);
    const missing = Array.from({ length: count }, (_, index) => index + 1).filter((number) => {
      const expected = Math.min(partBytes, said.length - (number - 1) * partBytes);
      return parts.get(number)?.length !== expected;
    });
    if (missing.length > 0) return refuse(409, 'Parts are missing', { missing: toRanges(missing) });
    if (said.length !== (length ?? said.length) || said.length > maxLength || parts.size !== count) {
      return refuse(400, 'Invalid request');
    }
    session.looksWhileCompleting -= 1;
    if (session.looksWhileCompleting >= 0) {
      return { status: 202, headers: { 'retry-after': '2' }, body: { state: 'completing' } };
    }
    session.isComplete = true;
    session.upload = { ...session.upload, encryptedMeta: said.encryptedMeta, nonce: said.nonce };
    return done;
  }

  #info(id: string, session: Session) {
    const { upload } = session;
    const size = payloadOf(session).length;
    const hasPassword = upload['x-has-password'] === 'true';
    return {
      id,
      size,
      fileCount: Number(upload['x-file-count']),
      hasPassword,
      passwordAlgo: upload['x-password-algo'] ?? null,
      passwordSalt: upload['x-password-salt'] ?? null,
      salt: upload['x-salt'],
      encryptedMeta: upload.encryptedMeta ?? null,
      nonce: upload.nonce ?? null,
      downloadCount: 0,
      maxDownloads: Number(upload['x-max-downloads']),
      expiresAt: ENDS_AT,
      createdAt: ENDS_AT,
    };
  }

  /** Requests reach it over HTTP. */
  async listen() {
    const { url: baseUrl, ...server } = await serve(async (request, response) => {
      const { method = 'GET', url: path = '' } = request;
      const headers = request.headers as Record<string, string>; // none of them is repeated
      if (this.isCut({ method, path, headers })) return request.once('data', () => request.destroy());
      const chunks: Buffer[] | undefined = await Array.fromAsync(request).catch(() => undefined);
      if (!chunks) return; // its client has left
      const body = Buffer.concat(chunks);
      const fault = this.fault({ method, path, headers, body });
      const answer = typeof fault === 'object' ? fault : this.handle({ method, path, headers, body });
      const content = Buffer.isBuffer(answer.body) ? answer.body : JSON.stringify(answer.body);
      response.writeHead(answer.status, { ...answer.headers }).end(content);
    });
    return { ...server, baseUrl };
  }

  /** Requests reach it by a call. Whoever stops one is obeyed; every request takes a turn of the loop. */
  transport(): Transport {
    return {
      send: async ({ method, url, headers, body, signal }) => {
        const names = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]);
        const bytes =
          typeof body === 'object' && 'stream' in body ? await Array.fromAsync(body.stream) : [Buffer.from(body ?? '')];
        const request = {
          method,
          path: new URL(url).pathname,
          headers: Object.fromEntries(names),
          body: Buffer.concat(bytes),
        };
        await new Promise((resolve) => setImmediate(resolve));
        signal?.throwIfAborted();
        const fault = this.fault(request);
        if (fault === 'cut') throw new Error('cut');
        const answer = typeof fault === 'object' ? fault : this.handle(request);
        if (fault === 'lost answer') throw new Error('the answer is lost');
        const content = Buffer.isBuffer(answer.body) ? answer.body : Buffer.from(JSON.stringify(answer.body));
        return {
          status: answer.status,
          header: (name) => answer.headers?.[name.toLowerCase()],
          body: new Blob([new Uint8Array(content)]).stream(),
        };
      },
    };
  }
}

function storePart(session: Session, number: number, body: Buffer): Answer {
  const { partBytes, length, maxLength } = session;
  const whole = length ?? maxLength;
  const left = whole - (number - 1) * partBytes;
  const isRight =
    length === undefined ? body.length <= Math.min(partBytes, left) : body.length === Math.min(partBytes, left);
  if (!Number.isInteger(number) || number < 1 || left <= 0 || body.length === 0 || !isRight)
    return refuse(400, 'Invalid request');
  session.parts.set(number, body);
  return { status: 200, body: { number, bytes: body.length } };
}

function isArriving({ isComplete, upload }: Session) {
  return !isComplete && upload['x-announce'] === 'true';
}

function arrivalOf(session: Session) {
  return {
    state: 'arriving',
    length: session.length ?? null,
    storedBytes: payloadOf(session).length,
    endsAt: ENDS_AT,
  };
}

function payloadOf({ parts }: Session): Buffer {
  return Buffer.concat([...parts].sort(([one], [other]) => one - other).map(([, part]) => part));
}

/** `1-17,19`. */
function toRanges(numbers: number[]): string {
  const ranges: [number, number][] = [];
  for (const number of numbers.toSorted((one, other) => one - other)) {
    const last = ranges.at(-1);
    if (last?.[1] === number - 1) last[1] = number;
    else ranges.push([number, number]);
  }
  return ranges.map(([first, last]) => (first === last ? `${first}` : `${first}-${last}`)).join(',');
}

function refuse(status: number, error: string, more = {}): Answer {
  return { status, body: { error, ...more } };
}
