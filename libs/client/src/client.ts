import { call, callJson, type NoteInfo, type ServiceConfig, type UploadInfo } from './api.ts';
import type { Context, Created, RequestOptions } from './context.ts';
import { MayflyError } from './errors.ts';
import { fetchTransport } from './fetch-transport.ts';
import { type Kind, type Link, parseBaseUrl, parseLink } from './link.ts';
import type { Metadata } from './metadata.ts';
import {
  type CreatedNote,
  createNote,
  getNoteInfo,
  type NoteOptions,
  openNote,
  type ViewedNote,
  type ViewOptions,
} from './notes.ts';
import type { PasswordCost } from './password.ts';
import { isOpen, openKeys, ownerToken, unlock } from './protection.ts';
import type { Source } from './source.ts';
import type { Transport } from './transport.ts';
import {
  type Download,
  type DownloadOptions,
  getUploadInfo,
  openDownload,
  readMetadata,
  type StreamUploadOptions,
  type UploadOptions,
  uploadFiles,
  uploadStream,
} from './uploads.ts';

export type ClientOptions = {
  /** Where new uploads and notes go. Links name their own service. */
  baseUrl: string;
  /** How requests travel; by default the browser's `fetch`. */
  transport?: Transport;
  /** Tests only: what is made with other costs than the format's can be opened by nobody else. */
  unsafePasswordCost?: PasswordCost;
};

type AnyLink = string | Link;

/** Downloads of an upload, views of a note. */
export type Usage = { usedCount: number; maxUses: number; expiresAt: string };

/** Everything that one can do with a Mayfly service. Every failure is a MayflyError. */
export class MayflyClient {
  readonly #context: Context;

  constructor({ baseUrl, transport = fetchTransport(), unsafePasswordCost }: ClientOptions) {
    this.#context = { baseUrl: parseBaseUrl(baseUrl), transport, passwordCost: unsafePasswordCost };
  }

  /** What the service accepts. */
  getConfig({ signal }: RequestOptions = {}): Promise<ServiceConfig> {
    const { transport, baseUrl } = this.#context;
    return callJson<ServiceConfig>(transport, `${baseUrl}/api/config`, { method: 'GET', signal });
  }

  /** Encrypts and uploads; several files become one archive. */
  uploadFiles(files: Source[], options: UploadOptions): Promise<Created> {
    return uploadFiles(this.#context, files, options);
  }

  /** The same for one file whose size is not known: it is encrypted into a spool and sent from there. */
  uploadStream(file: Omit<Source, 'size'>, options: StreamUploadOptions): Promise<Created> {
    return uploadStream(this.#context, file, options);
  }

  /** What the service tells about an upload, and its metadata unless a password is in the way or it is not there yet. */
  async getInfo(link: AnyLink, options: RequestOptions = {}): Promise<UploadInfo & { metadata?: Metadata }> {
    const parsed = readLink(link, 'upload');
    const info = await getUploadInfo(this.#context, parsed, options);
    if (!isOpen(parsed, info)) return info;
    const metadata = await readMetadata(await openKeys(parsed, info), info);
    return metadata ? { ...info, metadata } : info;
  }

  /** Begins a download, which counts. A wrong password or a changed description is found before that. */
  async download(link: AnyLink, options: DownloadOptions = {}): Promise<Download> {
    const parsed = readLink(link, 'upload');
    const info = await getUploadInfo(this.#context, parsed, options);
    const opened = isOpen(parsed, info) ? parsed : await this.#check(parsed, info, options.password, options);
    return openDownload(this.#context, opened, info, options);
  }

  createNote(text: string, options: NoteOptions): Promise<CreatedNote> {
    return createNote(this.#context, text, options);
  }

  /** What the service tells about a note; its text stays closed. */
  getNote(link: AnyLink, options: RequestOptions = {}): Promise<NoteInfo> {
    return getNoteInfo(this.#context, readLink(link, 'note'), options);
  }

  /**
   * Reads a note, which counts. When the answer does not arrive, the same view is repeated; `unconfirmed` when that was in vain.
   */
  async viewNote(link: AnyLink, options: ViewOptions & { password?: string } = {}): Promise<ViewedNote> {
    const parsed = readLink(link, 'note');
    const info = options.info ?? (await getNoteInfo(this.#context, parsed, options));
    const opened = await unlock(parsed, info, options.password, this.#context.passwordCost);
    return openNote(this.#context, opened, info, options);
  }

  /** Throws `wrong-password`, or returns a link that the other methods take without a password. Counts nothing. */
  async checkPassword(link: AnyLink, password: string, options: RequestOptions = {}): Promise<Link> {
    const parsed = readLink(link);
    const read = parsed.kind === 'upload' ? getUploadInfo : getNoteInfo;
    return this.#check(parsed, await read(this.#context, parsed, options), password, options);
  }

  async #check(
    link: Link,
    info: UploadInfo | NoteInfo,
    password: string | undefined,
    { signal }: RequestOptions,
  ): Promise<Link> {
    const { transport, passwordCost } = this.#context;
    const opened = await unlock(link, info, password, passwordCost);
    const { authToken } = await openKeys(opened, info);
    const path = link.kind === 'upload' ? `password/${link.id}` : `note/${link.id}/password`;
    const body = JSON.stringify({ authToken });
    const unauthorized = 'wrong-password';
    await call(transport, `${link.baseUrl}/api/${path}`, { method: 'POST', body, unauthorized, signal });
    return opened;
  }

  /** How often an upload or a note has been used. Everybody who knows the id may ask; it opens nothing. */
  async getUsage({ kind, id }: { kind: Kind; id: string }, options: RequestOptions = {}): Promise<Usage> {
    const address = { baseUrl: this.#context.baseUrl, id };
    if (kind === 'note') {
      const { viewCount, maxViews, expiresAt } = await getNoteInfo(this.#context, address, options);
      return { usedCount: viewCount, maxUses: maxViews, expiresAt };
    }
    const { downloadCount, maxDownloads, expiresAt } = await getUploadInfo(this.#context, address, options);
    return { usedCount: downloadCount, maxUses: maxDownloads, expiresAt };
  }

  /** Deletes an upload or a note, for its owner. */
  async remove({ kind, id }: { kind: Kind; id: string }, ownerSecret: string, { signal }: RequestOptions = {}) {
    const { transport, baseUrl } = this.#context;
    const headers = { 'X-Owner-Token': await ownerToken(ownerSecret) };
    await call(transport, `${baseUrl}/api/${kind}/${encodeURIComponent(id)}`, { method: 'DELETE', headers, signal });
  }
}

function readLink(link: AnyLink, kind?: Kind): Link {
  const parsed = typeof link === 'string' ? parseLink(link) : link;
  if (kind && parsed.kind !== kind) throw new MayflyError('invalid-link');
  return parsed;
}
