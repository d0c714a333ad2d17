import type { ClientOptions } from './client.ts';
import type { Context, Created, RequestOptions } from './context.ts';
import type { DropArchive, DropArchiveOptions } from './drop-archive.ts';
import type { Drop } from './dropped.ts';
import { type DropOptions, drop, type OpenedRequest, openRequest } from './drops.ts';
import { fetchTransport } from './fetch-transport.ts';
import { parseBaseUrl } from './link.ts';
import type { Hooks } from './owned.ts';
import type { RequestLink } from './request-link.ts';
import { senderTransport } from './request-slot.ts';
import {
  type CreatedRequest,
  createRequest,
  deleteRequest,
  listDrops,
  type NewRequest,
  type RequestStatus,
  setRequestHooks,
} from './requests.ts';
import type { Transport } from './transport.ts';

export type { DropArchive, DropArchiveOptions } from './drop-archive.ts';
export type { Drop } from './dropped.ts';
export { checkRoom, type OpenedRequest } from './drops.ts';
export { formatRequestLink, parseRequestLink, type RequestLink } from './request-link.ts';
export type { CreatedRequest, NewRequest, RequestStatus } from './requests.ts';

/** Asking for files and answering. An entry of its own, to be loaded on demand: it brings HPKE. Every failure is a MayflyError. */
export class FileRequests {
  readonly #context: Context;

  /** New requests go to `baseUrl`; links name their own service. */
  constructor({ baseUrl, transport = fetchTransport(), clock }: Omit<ClientOptions, 'unsafePasswordCost'>) {
    this.#context = { baseUrl: parseBaseUrl(baseUrl), transport, clock };
  }

  /** Asks for files, where config has `requests`. Without the link to keep nobody can open what is dropped. */
  create(request: NewRequest): Promise<CreatedRequest> {
    return createRequest(this.#context, request);
  }

  /** What is asked for, and how much room is left. `tampered` when the service shows another key than the link names. */
  open(link: string | RequestLink, options: RequestOptions = {}): Promise<OpenedRequest> {
    return openRequest(this.#context, link, options);
  }

  /** What to make the client with that uploads for it: it needs no key where creating takes one. */
  transportFor({ link }: OpenedRequest, { signal }: RequestOptions = {}): Promise<Transport> {
    return senderTransport(this.#context, link, signal);
  }

  /**
   * Gives an upload, made with the request's `dropExpireSec` and `dropMaxDownloads`, to whoever asked; may be called again. What the request
   * has no room for is deleted: `used-up`, `too-large`, `expired`.
   */
  drop(request: OpenedRequest, upload: Created, options: DropOptions = {}): Promise<void> {
    return drop(this.#context, request, upload, options);
  }

  /** What was dropped, as ordinary links of ordinary uploads, for whoever has the link to keep. Marks nothing. */
  list(keepLink: string | RequestLink, options: RequestOptions = {}): Promise<RequestStatus> {
    return listDrops(this.#context, keepLink, options);
  }

  /** Everything in these drops, which is one download of each, as one archive. */
  async archive(drops: Drop[], options: DropArchiveOptions = {}): Promise<DropArchive> {
    return (await import('./drop-archive.ts')).archiveDrops(this.#context, drops, options);
  }

  /** Has somebody told of drops from now on; without hooks nobody is told any more. Where config has `notices`. */
  setHooks(keepLink: string | RequestLink, hooks?: Hooks, options: RequestOptions = {}): Promise<void> {
    return setRequestHooks(this.#context, keepLink, hooks, options);
  }

  /** Deletes a request, and what opens its drops. The uploads stay until they end by themselves. */
  remove(keepLink: string | RequestLink, options: RequestOptions = {}): Promise<void> {
    return deleteRequest(this.#context, keepLink, options);
  }
}
