// biome-ignore-all lint/style/noExcessiveLinesPerFile: one class, with a method of a few lines for each thing that one can do.
import { type NoteInfo, readConfig, type ServiceConfig, type UploadInfo } from './answers.ts';
import { call, callJson } from './api.ts';
import { type Arrival, getArrival } from './arrival.ts';
import type { Clock } from './clock.ts';
import type { Content, ContentOptions } from './content.ts';
import type { Context, Created, RequestOptions } from './context.ts';
import type { Download, DownloadOptions } from './download-options.ts';
import { MayflyError } from './errors.ts';
import { fetchTransport } from './fetch-transport.ts';
import { type Kind, type Link, parseBaseUrl, parseLink } from './link.ts';
import type { Metadata } from './metadata.ts';
import {
  type CreatedNote,
  createNote,
  getNoteInfo,
  isTypeHidden,
  type NoteOptions,
  openNote,
  type ViewedNote,
  type ViewOptions,
} from './notes.ts';
import type { Hooks, NewTerms, Owner, OwnStatus } from './owned.ts';
import type { PasswordCost } from './password.ts';
import { compareProtection, type GivenPassword, isOpen, openKeys, ownerToken, unlock } from './protection.ts';
import type { Source } from './source.ts';
import type { StreamUploadOptions } from './stream-uploads.ts';
import type { Transport } from './transport.ts';
import type { UnfinishedUpload } from './unfinished.ts';
import { getUploadInfo } from './upload-info.ts';
import type { PartOptions, UploadOptions } from './upload-options.ts';
import { uploadFiles } from './uploads.ts';
import type { Usage } from './usage.ts';

export type ClientOptions = {
  /** Where new uploads and notes go. Links name their own service. */
  baseUrl: string;
  /** How requests travel; by default the browser's `fetch`. */
  transport?: Transport;
  /** Tests only: nobody else can open what is made with costs other than the format's. */
  unsafePasswordCost?: PasswordCost;
  /** Tests only. */
  clock?: Clock;
};

type AnyLink = string | Link;

/** `lease`: one that was granted, to be told what the service tells nobody else any more. */
type AskOptions = RequestOptions & { lease?: string | undefined };
type CheckOptions = AskOptions & Pick<GivenPassword, 'allowPbkdf2'>;
type OpenOptions = RequestOptions & GivenPassword;
/** `isWhole`: all of it has arrived, which its owner is told. */
type EndOptions = OpenOptions & { isWhole?: boolean };

/** What a client that only sends small files can do without. */
const loadRest = () => import('./resumable.ts');

/** Everything that one can do with a Mayfly service. Every failure is a MayflyError. */
export class MayflyClient {
  readonly #context: Context;

  constructor({ baseUrl, transport = fetchTransport(), unsafePasswordCost, clock }: ClientOptions) {
    this.#context = { baseUrl: parseBaseUrl(baseUrl), transport, passwordCost: unsafePasswordCost, clock };
  }

  /** What the service accepts. */
  getConfig({ signal }: RequestOptions = {}): Promise<ServiceConfig> {
    const { transport, baseUrl } = this.#context;
    return callJson(transport, `${baseUrl}/api/config`, { method: 'GET', read: readConfig, signal });
  }

  /** Encrypts and uploads; several files become one archive. */
  uploadFiles(files: Source[], options: UploadOptions): Promise<Created> {
    return uploadFiles(this.#context, files, options);
  }

  /** The same for one file whose size is not known: it is encrypted into a spool and sent from there. */
  async uploadStream(file: Omit<Source, 'size'>, options: StreamUploadOptions): Promise<Created> {
    return (await import('./stream-uploads.ts')).uploadStream(this.#context, file, options);
  }

  /** Goes on with an upload in parts: with what `onUnfinished` was told, and the same files where any is missing. */
  async resumeUpload(unfinished: UnfinishedUpload, files: Source[] = [], options: PartOptions = {}): Promise<Created> {
    return (await loadRest()).resumeUpload(this.#context, unfinished, files, options);
  }

  /** Deletes what the service has of an unfinished upload. */
  async cancelUpload(unfinished: UnfinishedUpload, options: RequestOptions = {}): Promise<void> {
    return (await loadRest()).cancelUpload(this.#context, unfinished, options);
  }

  /** How many bytes of an unfinished upload the service has, and how many there are. */
  async getStoredBytes(unfinished: UnfinishedUpload, options: RequestOptions = {}) {
    return (await loadRest()).getStoredBytes(this.#context, unfinished, options);
  }

  /** What the service says about an upload, and its metadata unless a password is needed or it is not there yet. */
  async getInfo(link: AnyLink, { lease, signal }: AskOptions = {}): Promise<UploadInfo & { metadata?: Metadata }> {
    const parsed = await readLink(link, 'upload');
    const ask = lease
      ? loadRest().then(({ getLeasedInfo }) => getLeasedInfo(this.#context, parsed, { lease, signal }))
      : getUploadInfo(this.#context, parsed, { signal });
    const [info, { readMetadata }] = await Promise.all([ask, loadRest()]);
    if (!isOpen(parsed, info)) return info;
    const metadata = await readMetadata(this.#context, parsed, await openKeys(parsed, info), info, { signal });
    return metadata ? { ...info, metadata } : info;
  }

  /** How far an announced upload has got; undefined when none is on its way at this link. */
  async getArrival(link: AnyLink, options: RequestOptions = {}): Promise<Arrival | undefined> {
    return getArrival(this.#context, await readLink(link, 'upload'), options);
  }

  /**
   * Begins a download, which counts, or goes on with one. A wrong password or a changed description is found before that. `download-ended` when
   * it cannot be continued: only a new one, which counts, brings the rest.
   */
  async download(link: AnyLink, options: DownloadOptions = {}): Promise<Download> {
    const { download } = await loadRest();
    return download(this.#context, await readLink(link, 'upload'), options);
  }

  /** The content, to be read in pieces. Spends nothing: the first byte that is read begins the download. */
  async openContent(link: AnyLink, options: ContentOptions): Promise<Content> {
    const { openContent } = await loadRest();
    return openContent(this.#context, await readLink(link, 'upload'), options);
  }

  /** Ends a download under a lease that its caller keeps. Best effort: it ends by itself, and its payload stays until then. */
  async endLease(link: AnyLink, lease: string, options: EndOptions = {}): Promise<void> {
    const { endLease } = await loadRest();
    return endLease(this.#context, await readLink(link, 'upload'), { ...options, lease });
  }

  createNote(text: string, options: NoteOptions): Promise<CreatedNote> {
    return createNote(this.#context, text, options);
  }

  /** What the service says about a note: not its text, and its type only for notes with old links. */
  async getNote(link: AnyLink, options: RequestOptions = {}): Promise<NoteInfo> {
    const parsed = await readLink(link, 'note');
    const info = await getNoteInfo(this.#context, parsed, options);
    compareProtection(parsed, info);
    return isTypeHidden(parsed) ? { ...info, contentType: undefined } : info;
  }

  /**
   * Reads a note, which counts. When the answer does not arrive, the same view is repeated; `unconfirmed` when none ever does.
   */
  async viewNote(link: AnyLink, options: ViewOptions & GivenPassword = {}): Promise<ViewedNote> {
    const parsed = await readLink(link, 'note');
    const info = options.info ?? (await getNoteInfo(this.#context, parsed, options));
    const opened = await unlock(parsed, info, options, this.#context.passwordCost);
    return openNote(this.#context, opened, info, options);
  }

  /** Throws `wrong-password`, or returns a link that the other methods take without a password. Counts nothing. */
  async checkPassword(link: AnyLink, password: string, options: CheckOptions = {}): Promise<Link> {
    const parsed = await readLink(link);
    const { lease } = options;
    if (lease) {
      const { openLease } = await loadRest();
      const lasting = { ...options, lease, password, isContinued: true };
      return (await openLease(this.#context, parsed, lasting)).link;
    }
    const read = parsed.kind === 'upload' ? getUploadInfo : getNoteInfo;
    const info = await read(this.#context, parsed, options);
    const { openLink } = await loadRest();
    return openLink(this.#context, parsed, info, { ...options, password });
  }

  /** How often an upload or a note has been used. Everybody who knows the id may ask; it opens nothing. */
  async getUsage(item: { kind: Kind; id: string }, options: RequestOptions = {}): Promise<Usage> {
    return (await loadRest()).getUsage(this.#context, item, options);
  }

  /** What became of an upload or a note, for its owner, also when it is over. Where config has `owner`. */
  async getOwnStatus(item: { kind: Kind; id: string }, owner: Owner): Promise<OwnStatus> {
    return (await loadRest()).getOwnStatus(this.#context, item, owner);
  }

  /** Changes the end or the number of uses, for the owner. Both change or neither. Where config has `owner`. */
  async setTerms(item: { kind: Kind; id: string }, owner: Owner, terms: NewTerms): Promise<OwnStatus> {
    return (await loadRest()).setTerms(this.#context, item, owner, terms);
  }

  /** Has somebody told of uses from now on, in place of a hook of the same kind; without hooks nobody is told any more. Where config has `notices`. */
  async setHooks(item: { kind: Kind; id: string }, owner: Owner, hooks?: Hooks): Promise<OwnStatus> {
    return (await loadRest()).setHooks(this.#context, item, owner, hooks);
  }

  /** Deletes an upload or a note, for its owner. */
  async remove({ kind, id }: { kind: Kind; id: string }, ownerSecret: string, { signal }: RequestOptions = {}) {
    const { transport, baseUrl } = this.#context;
    const headers = { 'X-Owner-Token': await ownerToken(ownerSecret) };
    await call(transport, `${baseUrl}/api/${kind}/${encodeURIComponent(id)}`, { method: 'DELETE', headers, signal });
  }
}

async function readLink(link: AnyLink, kind?: Kind): Promise<Link> {
  const parsed = typeof link === 'string' ? await parseLink(link) : link;
  if (kind && parsed.kind !== kind) throw new MayflyError('invalid-link');
  return parsed;
}
