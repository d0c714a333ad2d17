import { createHash, randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { buffer, text } from 'node:stream/consumers';

const LEAST_PART_BYTES = 5 * 1024 * 1024;

type Part = { bytes: Buffer; etag: string };
type Upload = { key: string; initiated: Date; parts: Map<number, Part> };
type Answer = { status: number; body?: string; headers?: Record<string, string> };
type Wanted = { method: string; key: string; query: URLSearchParams; fault: 'cut' | undefined };

/**
 * Multipart uploads as S3 has them, in memory until they are complete. The last try of a number counts; all parts but the last are of
 * one length (R2's rule) and not too small; what is complete or aborted is not there any more.
 */
export function fakeMultipart(pathOf: (key: string) => string) {
  const uploads = new Map<string, Upload>();

  async function answer(request: IncomingMessage, { method, key, query, fault }: Wanted): Promise<Answer> {
    if (query.has('uploads')) return begin(key);
    const id = query.get('uploadId') ?? '';
    const upload = uploads.get(id);
    if (method === 'PUT') {
      if (fault) request.once('data', () => request.destroy());
      const bytes = await buffer(request);
      // Not before it is here: it may have been completed or aborted meanwhile.
      return uploads.has(id) && upload
        ? put(upload, Number(query.get('partNumber')), bytes)
        : refusal(404, 'NoSuchUpload');
    }
    if (!upload) return refusal(404, 'NoSuchUpload');
    if (method === 'GET') return list(upload);
    if (method === 'DELETE') {
      uploads.delete(id);
      return { status: 204 };
    }
    return complete(id, upload, await text(request));
  }

  function begin(key: string): Answer {
    const id = randomUUID();
    uploads.set(id, { key, initiated: new Date(), parts: new Map() });
    const [bucket = '', ...rest] = key.split('/');
    return xml('InitiateMultipartUploadResult', { Bucket: bucket, Key: rest.join('/'), UploadId: id });
  }

  function put({ parts }: Upload, number: number, bytes: Buffer): Answer {
    const etag = createHash('md5').update(bytes).digest('hex');
    parts.set(number, { bytes, etag });
    return { status: 200, headers: { etag: `"${etag}"` } };
  }

  async function complete(id: string, { key, parts }: Upload, wanted: string): Promise<Answer> {
    const named = [...wanted.matchAll(/<PartNumber>(\d+)<\/PartNumber>\s*<ETag>"?([^<"]*)"?<\/ETag>/g)];
    const found = named.map(([, number, etag]) => ({ part: parts.get(Number(number)), etag }));
    if (found.some(({ part, etag }) => part?.etag !== etag)) return refusal(400, 'InvalidPart');
    const sizes = found.slice(0, -1).map(({ part }) => part?.bytes.length ?? 0);
    if (new Set(sizes).size > 1) return refusal(400, 'InvalidPart');
    if (sizes.some((size) => size < LEAST_PART_BYTES)) return refusal(400, 'EntityTooSmall');
    await writeFile(pathOf(key), Buffer.concat(found.map(({ part }) => part?.bytes ?? Buffer.alloc(0))));
    uploads.delete(id);
    return xml('CompleteMultipartUploadResult', { Location: key, Bucket: 'bucket', Key: key, ETag: '"whole"' });
  }

  const list = ({ parts }: Upload) =>
    xml('ListPartsResult', {
      IsTruncated: 'false',
      ...Object.fromEntries(
        [...parts].map(([number, { bytes, etag }], index) => [
          `Part.${index}`,
          `<PartNumber>${number}</PartNumber><ETag>"${etag}"</ETag><Size>${bytes.length}</Size>` +
            `<LastModified>${new Date().toISOString()}</LastModified>`,
        ]),
      ),
    });

  return Object.assign(answer, {
    uploads: uploads as ReadonlyMap<string, { key: string }>,
    list: (bucket: string) =>
      `<ListMultipartUploadsResult><IsTruncated>false</IsTruncated>${[...uploads]
        .filter(([, { key }]) => key.startsWith(`${bucket}/`))
        .map(
          ([id, { key, initiated }]) =>
            `<Upload><Key>${key.slice(bucket.length + 1)}</Key><UploadId>${id}</UploadId>` +
            `<Initiated>${initiated.toISOString()}</Initiated></Upload>`,
        )
        .join('')}</ListMultipartUploadsResult>`,
  });
}

/** An element of elements; a name may have a number after a dot, to be there several times. */
function xml(root: string, fields: Record<string, string>): Answer {
  const inner = Object.entries(fields).map(([name, value]) => {
    const [tag] = name.split('.');
    return `<${tag}>${value}</${tag}>`;
  });
  return { status: 200, headers: { 'content-type': 'application/xml' }, body: `<${root}>${inner.join('')}</${root}>` };
}

const refusal = (status: number, code: string): Answer => ({
  status,
  headers: { 'content-type': 'application/xml' },
  body: `<Error><Code>${code}</Code><Message>${code}</Message></Error>`,
});
