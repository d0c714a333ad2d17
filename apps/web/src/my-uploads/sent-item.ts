import { type Kind, NOTE_CONTENT_TYPES, type NoteContentType, parseAddress } from '@mayfly/client';

/** Something that was sent from this browser, with what its owner needs to find and to delete it. */
export type SentItem = {
  kind: Kind;
  id: string;
  /** Address of the service that the client used; the link may begin with another one of the same service. */
  service: string;
  link: string;
  ownerSecret: string;
  /** ISO 8601, UTC. */
  sentAt: string;
  expiresAt: string;
  /** Downloads or views that it allows. */
  maxUses: number;
  hasPassword: boolean;
  /** Of an upload. */
  files?: { name: string; size: number }[];
  /** Of a note. */
  contentType?: NoteContentType;
};

const OWNER_SECRET = /^[A-Za-z0-9_-]{43}$/;

/** The same for two entries about one item. */
export function itemKey({ kind, service, id }: Pick<SentItem, 'kind' | 'service' | 'id'>): string {
  return `${kind} ${id} ${service}`;
}

/** An item from a file or a database of unknown age; undefined when something in it is missing or wrong. */
export function readSentItem(value: unknown): SentItem | undefined {
  const item = (value ?? {}) as Partial<SentItem>; // every field is looked at below
  const { kind, id, service, link, ownerSecret, sentAt, expiresAt, maxUses, hasPassword, files, contentType } = item;
  if (typeof id !== 'string' || !isLinkOf(link, kind, id) || !isAddress(service)) return undefined;
  if (typeof ownerSecret !== 'string' || !OWNER_SECRET.test(ownerSecret)) return undefined;
  if (!isTime(sentAt) || !isTime(expiresAt) || !isCount(maxUses) || typeof hasPassword !== 'boolean') return undefined;
  const common = { id, service, link, ownerSecret, sentAt, expiresAt, maxUses, hasPassword };
  if (kind === 'upload') {
    return isFileList(files) ? { kind, ...common, files: files.map(({ name, size }) => ({ name, size })) } : undefined;
  }
  return isContentType(contentType) ? { kind: 'note', ...common, contentType } : undefined;
}

function isLinkOf(link: unknown, kind: unknown, id: unknown): link is string {
  if (typeof link !== 'string') return false;
  try {
    const parsed = parseAddress(link);
    return parsed.kind === kind && parsed.id === id;
  } catch {
    return false; // it is no link
  }
}

function isAddress(service: unknown): service is string {
  return typeof service === 'string' && /^https?:$/.test(URL.parse(service)?.protocol ?? '');
}

function isTime(time: unknown): time is string {
  return typeof time === 'string' && !Number.isNaN(Date.parse(time));
}

function isCount(count: unknown): count is number {
  return Number.isSafeInteger(count) && Number(count) >= 0;
}

function isFileList(files: unknown): files is { name: string; size: number }[] {
  if (!Array.isArray(files) || files.length === 0) return false;
  return files.every((file) => typeof file?.name === 'string' && isCount(file?.size));
}

function isContentType(contentType: unknown): contentType is NoteContentType {
  return NOTE_CONTENT_TYPES.some((known) => known === contentType);
}
