import { withUniqueNames } from './archive.ts';
import { toBase64url } from './bytes.ts';
import { MayflyError } from './errors.ts';
import { parseLink } from './link.ts';
import type { FileEntry } from './metadata.ts';
import type { Source } from './source.ts';

/** A file as it was when it began to be sent: its name in the upload, and milliseconds since 1970. */
export type FileIdentity = FileEntry & { lastModified: number };

/**
 * What it takes to resume an upload in parts, as JSON. Whoever has it can read what was sent, and delete it: keep it where
 * nobody else can read it, and no longer than until it is done.
 */
export type UnfinishedUpload = {
  id: string;
  /** Address of the service, as the client used it. */
  baseUrl: string;
  link: string;
  ownerSecret: string;
  /** base64url. With a password the link has another one. */
  secret: string;
  /** base64url. */
  salt: string;
  /** base64url. Of sealed metadata. */
  share?: string | undefined;
  segmentsPerPart: number;
  /** Bytes of content and padding. */
  paddedSize: number;
  files: FileIdentity[];
  /** ISO 8601: it must be complete before that. */
  endsAt: string;
};

export function identify(sources: Source[]): FileIdentity[] {
  return sources.map(({ name, type = '', size, lastModified = Date.now() }) => ({ name, type, size, lastModified }));
}

/** Whether its link needs a password. */
export async function hasPassword({ link, secret }: UnfinishedUpload): Promise<boolean> {
  return toBase64url((await parseLink(link)).secret) !== secret;
}

/** A file as it was, to be described and not to be read. */
export function closed(file: FileIdentity): Source {
  const stream = () => new ReadableStream<Uint8Array>({ start: (to) => to.error(new Error('it is not there')) });
  return { ...file, stream };
}

/** The files again, as they were. Throws `bad-source` when they are others, or one has another size or time. */
export function recognize(files: Source[], known: FileIdentity[]): Source[] {
  const sources = withUniqueNames(files);
  if (sources.length !== known.length) throw changed('These are not the files that were being sent');
  return known.map(({ name, type, size, lastModified }, index) => {
    const source = sources[index];
    if (source?.name !== name) throw changed(`${name} was being sent, not ${source?.name}`);
    const { lastModified: foundModified = lastModified } = files[index] ?? {};
    if (source.size !== size || foundModified !== lastModified) throw changed(`${name} has changed since`);
    return { ...source, type, lastModified };
  });
}

function changed(message: string) {
  return new MayflyError('bad-source', { message });
}
