import { type Kind, NOTE_CONTENT_TYPES, type NoteContentType, parseAddress } from '@mayfly/client';
import { parseRequestLink } from '@mayfly/client/requests';

/** Something that was sent or asked for from this browser, with what its owner needs to find and to delete it. */
export type SentItem = {
  kind: Kind | 'request';
  id: string;
  /** Address of the service that the client used; the link may begin with another one of the same service. */
  service: string;
  /** Of a file request the one to give away. */
  link: string;
  /** Of a file request what its private link carries. */
  ownerSecret: string;
  /** ISO 8601, UTC. */
  sentAt: string;
  expiresAt: string;
  /** Downloads, views or deliveries that it allows. */
  maxUses: number;
  hasPassword: boolean;
  /** Of an upload. */
  files?: { name: string; size: number }[];
  /** Of a note. */
  contentType?: NoteContentType;
  /** Of a file request. */
  title?: string;
};

export type SentContent = SentItem & { kind: Kind };

/** Whether it is an upload or a note. */
export function isContent(item: SentItem): item is SentContent {
  return item.kind !== 'request';
}

/** The link of a file request that opens what was sent to it. */
export function keepLinkOf({ link, ownerSecret }: Pick<SentItem, 'link' | 'ownerSecret'>): string {
  return `${link.slice(0, link.indexOf('#'))}#k${ownerSecret}`;
}

const OWNER_SECRET = /^[A-Za-z0-9_-]{43}$/;

/** The same for two entries about one item. */
export function itemKey({ kind, service, id }: Pick<SentItem, 'kind' | 'service' | 'id'>): string {
  return `${kind} ${id} ${service}`;
}

/** An item from a file or a database of unknown age; undefined when something in it is missing or wrong. */
export function readSentItem(value: unknown): SentItem | undefined {
  const item = (value ?? {}) as Partial<SentItem>; // every field is looked at below
  const { kind, id, service, link, ownerSecret, sentAt, expiresAt, maxUses, hasPassword, files, contentType, title } =
    item;
  if (typeof id !== 'string' || !isLinkOf(link, kind, id) || !isAddress(service)) return undefined;
  if (typeof ownerSecret !== 'string' || !OWNER_SECRET.test(ownerSecret)) return undefined;
  if (!isTime(sentAt) || !isTime(expiresAt) || !isCount(maxUses) || typeof hasPassword !== 'boolean') return undefined;
  const common = { id, service, link, ownerSecret, sentAt, expiresAt, maxUses, hasPassword };
  if (kind === 'upload') {
    return isFileList(files) ? { kind, ...common, files: files.map(({ name, size }) => ({ name, size })) } : undefined;
  }
  if (kind === 'request') return typeof title === 'string' ? { kind, ...common, title } : undefined;
  return isContentType(contentType) ? { kind: 'note', ...common, contentType } : undefined;
}

function isLinkOf(link: unknown, kind: unknown, id: unknown): link is string {
  if (typeof link !== 'string') return false;
  try {
    if (kind === 'request') return parseRequestLink(link).id === id;
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
