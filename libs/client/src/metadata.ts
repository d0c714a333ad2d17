import { MayflyError } from './errors.ts';
import { type Message, openMessage, sealMessage } from './message.ts';

// docs/crypto.md, "Metadata".

const PURPOSE = 'mayfly v1 metadata';

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
};

export function sealMetadata(key: CryptoKey, metadata: Metadata): Promise<Message> {
  return sealMessage(key, PURPOSE, JSON.stringify(metadata));
}

/** Throws `tampered` when it was not sealed with this key. */
export async function openMetadata(key: CryptoKey, message: Message): Promise<Metadata> {
  const metadata = parseJson(await openMessage(key, PURPOSE, message));
  if (!isMetadata(metadata)) throw new MayflyError('tampered', { message: 'Its description cannot be read' });
  return metadata;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // a broken client made it
  }
}

function isMetadata(value: unknown): value is Metadata {
  const { files, archive } = (value ?? {}) as Partial<Metadata>; // every field is looked at below
  if (!Array.isArray(files) || !files.every(isFileEntry)) return false;
  return files.length > 1 ? archive === 'zip' : files.length === 1 && archive === undefined;
}

function isFileEntry(value: unknown): value is FileEntry {
  const { name, type, size } = (value ?? {}) as Partial<FileEntry>; // likewise
  return (
    typeof name === 'string' &&
    name !== '' &&
    typeof type === 'string' &&
    Number.isSafeInteger(size) &&
    Number(size) >= 0
  );
}
