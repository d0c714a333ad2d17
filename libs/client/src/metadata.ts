import { MayflyError } from './errors.ts';
import { parseJson } from './fields.ts';
import { type Message, openMessage, sealMessage } from './message.ts';
import { archiveSize, hasZipName } from './zip.ts';

// docs/crypto.md, "Metadata".

const purposeOf = (isSealed: boolean) => (isSealed ? 'mayfly v2 sealed metadata' : 'mayfly v1 metadata');
/** A part's header has three bytes for them. */
const MOST_SEGMENTS_PER_PART = 2 ** 24 - 1;

export type FileEntry = {
  /** As its sender wrote it: a receiver that writes to a disk must not trust it. */
  name: string;
  /** MIME type, empty when unknown. */
  type: string;
  size: number;
};

export type Metadata = {
  files: FileEntry[];
  /** How the payload holds the files; absent when it is the one file itself. */
  archive?: 'zip';
  /** Format of the payload; absent when it is 1. */
  format?: number;
  /** Of format 2: how long its parts are. */
  segmentsPerPart?: number;
  /** Bytes of the payload's content, which in format 2 padding follows. Of format 1 archives alone have it, of all but old senders. */
  size?: number;
};

/** `isSealed`: the key is that of sealed metadata. */
export function sealMetadata(key: CryptoKey, metadata: Metadata, isSealed = false): Promise<Message> {
  return sealMessage(key, purposeOf(isSealed), JSON.stringify(metadata));
}

/** Throws `tampered` when it was not sealed with this key. */
export async function openMetadata(key: CryptoKey, message: Message, isSealed = false): Promise<Metadata> {
  const metadata = parseJson(await openMessage(key, purposeOf(isSealed), message));
  if (!isMetadata(metadata)) throw new MayflyError('tampered', { message: 'Its description cannot be read' });
  return metadata;
}

function isMetadata(value: unknown): value is Metadata {
  const { files, archive, format = 1, segmentsPerPart, size } = (value ?? {}) as Partial<Metadata>; // every field is looked at below
  if (!Array.isArray(files) || !files.every(isFileEntry)) return false;
  if (size !== undefined && !isSize(size)) return false;
  const isInParts = isCount(segmentsPerPart, MOST_SEGMENTS_PER_PART) && size !== undefined;
  if (!isCount(format) || (format === 2 && !isInParts)) return false;
  if (files.length <= 1) return files.length === 1 && archive === undefined;
  return archive === 'zip' && files.every(hasZipName);
}

/** Bytes of the content that these files are, alone or as an archive. */
export function describedSize({ files, archive }: Metadata): number {
  return archive ? archiveSize(files) : (files[0]?.size ?? 0);
}

function isCount(value: unknown, most = Number.MAX_SAFE_INTEGER): boolean {
  return isSize(value) && value !== 0 && Number(value) <= most;
}

function isSize(value: unknown): boolean {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}

function isFileEntry(value: unknown): value is FileEntry {
  const { name, type, size } = (value ?? {}) as Partial<FileEntry>; // likewise
  return typeof name === 'string' && name !== '' && typeof type === 'string' && isSize(size);
}
