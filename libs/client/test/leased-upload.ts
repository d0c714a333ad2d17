import { randomBytes } from 'node:crypto';
import type { UploadInfo } from '../src/answers.ts';
import { deriveKeys } from '../src/keys.ts';
import { FORMAT_2 } from '../src/layout.ts';
import { formatLink } from '../src/link.ts';
import { type Metadata, sealMetadata } from '../src/metadata.ts';
import { cutIntoParts, encryptPart } from '../src/parts.ts';
import { encryptSegments } from '../src/segments.ts';
import type { Transport, TransportAnswer, TransportRequest } from '../src/transport.ts';
import { collect, inPieces } from './bytes.ts';

const ID = '0b5c6d52-5b1c-4f6e-9a55-0c2f1f0e9a11';
const BASE = 'http://service';
const header =
  (headers: Record<string, string> = {}) =>
  (name: string) =>
    headers[name];
const json = (status: number, body: unknown): TransportAnswer => ({
  status,
  header: header(),
  body: new Blob([JSON.stringify(body)]).stream(),
});

export type UploadShape = {
  segmentsPerPart?: number;
  paddedSize?: number;
  /** What the metadata says; of the content by default. */
  size?: number;
};

/** An upload, encrypted: with segmentsPerPart in parts. */
export async function sealUpload(
  content: Uint8Array,
  { segmentsPerPart, paddedSize, size = content.length }: UploadShape = {},
) {
  const [secret, salt] = [new Uint8Array(randomBytes(32)), new Uint8Array(randomBytes(16))];
  const keys = await deriveKeys(secret, salt);
  const pieces: Uint8Array[] = [];
  if (segmentsPerPart === undefined) {
    pieces.push(await collect(inPieces(content).pipeThrough(encryptSegments(keys.file as CryptoKey))));
  } else {
    const padTo = () => paddedSize ?? content.length;
    for await (const part of cutIntoParts(inPieces(content), segmentsPerPart, { padTo })) {
      pieces.push(await encryptPart(keys.payload, part, segmentsPerPart));
    }
  }
  const payload = Buffer.concat(pieces);
  const inParts = segmentsPerPart === undefined ? {} : { format: FORMAT_2, segmentsPerPart, size };
  const metadata: Metadata = { files: [{ name: 'a', type: '', size }], ...inParts };
  const { ciphertext, nonce } = await sealMetadata(keys.metadata, metadata);
  const info: UploadInfo = {
    id: ID,
    size: payload.length,
    fileCount: 1,
    hasPassword: false,
    passwordAlgo: null,
    passwordSalt: null,
    salt: Buffer.from(salt).toString('base64url'),
    encryptedMeta: Buffer.from(ciphertext).toString('base64'),
    nonce: Buffer.from(nonce).toString('base64'),
    downloadCount: 0,
    maxDownloads: 1,
    expiresAt: '2030-01-01T00:00:00.000Z',
    createdAt: '2030-01-01T00:00:00.000Z',
  };
  return {
    payload,
    info,
    keys,
    link: await formatLink({ kind: 'upload', baseUrl: BASE, id: ID, secret, protection: undefined }),
  };
}

export type Sealed = Awaited<ReturnType<typeof sealUpload>>;

/**
 * A service with one upload of one download: used up for everybody but the leases that it has granted. `cutAfter` says after how many bytes an
 * answer breaks.
 */
export class LeasedService implements Transport {
  readonly requests: TransportRequest[] = [];
  readonly leases = new Set<string>();
  readonly #sealed: Sealed;
  cutAfter: (bytes: number) => number | undefined = () => undefined;
  sentBytes = 0;
  atOnce = 0;
  mostAtOnce = 0;
  ended = 0;

  constructor(sealed: Sealed) {
    this.#sealed = sealed;
  }

  get ranges() {
    return this.requests.filter(({ method, url }) => method === 'GET' && /\/api\/lease\/[^/]*$/.test(url));
  }

  async send(request: TransportRequest): Promise<TransportAnswer> {
    this.requests.push(request);
    await new Promise((resolve) => setImmediate(resolve));
    if (request.signal?.aborted) throw request.signal.reason;
    const lease = request.headers['X-Download-Lease'] ?? '';
    const { info } = this.#sealed;
    const path = request.url.slice(BASE.length).replace(ID, 'ID');
    const isUsedUp = this.leases.size > 0;
    if (path === '/api/info/ID') return isUsedUp ? json(410, { error: 'used up' }) : json(200, info);
    if (path === '/api/exists/ID') return json(410, { exists: false, reason: 'limit_reached' });
    if (path === '/api/lease/ID/info') {
      return this.leases.has(lease) ? json(200, info) : json(410, { error: 'Download lease has ended' });
    }
    if (path !== '/api/lease/ID') return json(404, {});
    if (request.method === 'DELETE') {
      this.ended += 1;
      this.leases.delete(lease);
      return json(200, { ok: true });
    }
    if (!this.leases.has(lease)) {
      if (request.headers['X-Download-Continues']) return json(410, { error: 'Download lease has ended' });
      if (isUsedUp) return json(410, { error: 'used up' });
      this.leases.add(lease);
    }
    return this.#range(request);
  }

  #range({ headers, signal }: TransportRequest): TransportAnswer {
    const { payload } = this.#sealed;
    const [, first = '0', last = ''] = /^bytes=(\d+)-(\d*)$/.exec(headers.Range ?? 'bytes=0-') ?? [];
    if (Number(first) >= payload.length) return json(416, {});
    const wanted = payload.subarray(Number(first), last === '' ? undefined : Number(last) + 1);
    const cutAt = this.cutAfter(wanted.length);
    this.atOnce += 1;
    this.mostAtOnce = Math.max(this.atOnce, this.mostAtOnce);
    let isOpen = true;
    const close = () => {
      if (isOpen) this.atOnce -= 1;
      isOpen = false;
    };
    let at = 0;
    const body = new ReadableStream<Uint8Array>(
      {
        start(controller) {
          signal?.addEventListener('abort', () => {
            close();
            controller.error(signal.reason);
          });
        },
        pull: async (controller) => {
          await new Promise((resolve) => setImmediate(resolve));
          if (!isOpen) return;
          const end = Math.min(at + 50_000, wanted.length, cutAt ?? wanted.length);
          const isBroken = cutAt !== undefined && at >= cutAt;
          if (isBroken || at === wanted.length) close();
          if (isBroken) return controller.error(new Error('reset'));
          if (at === wanted.length) return controller.close();
          controller.enqueue(new Uint8Array(wanted.subarray(at, end)));
          this.sentBytes += end - at;
          at = end;
        },
        cancel: close,
      },
      { highWaterMark: 0 },
    );
    return { status: headers.Range ? 206 : 200, header: header(), body };
  }
}
