import { rename } from 'node:fs/promises';
import { join } from 'node:path';
import { MayflyError } from '@mayfly/client';
import type { Drop, FileRequests, RequestLink, RequestStatus } from '@mayfly/client/requests';
import { formatTimeLeft, plural } from '../amounts.ts';
import { type CommonOptions, type Context, openClient, openRequests } from '../context.ts';
import { exists, makeFolder } from '../destination.ts';
import { CliError } from '../exit-codes.ts';
import { jsonLine } from '../json-line.ts';
import { findRequest } from '../own-request.ts';
import { printableName } from '../printable.ts';
import { readLink } from '../read-link.ts';
import { saveUpload } from './get-upload.ts';

export type CollectOptions = CommonOptions & { output?: string; watch?: boolean };

const WAIT_MS = 15_000;
/** What a request that is watched survives. */
const PASSING = ['network', 'unavailable', 'rate-limited'];

/** Downloads what was dropped, each drop into a folder of its own; what is in its folder already is left alone. */
export async function collect(context: Context, linkOrId: string, options: CollectOptions) {
  const { terminal, sleep } = context;
  const link = await findKeepLink(context, linkOrId);
  const requests = await openRequests(terminal, link.baseUrl);
  const folder = options.output ?? '.';
  await makeFolder(folder);
  const done = new Map<string, unknown>();
  for (let isFirst = true; ; isFirst = false) {
    const status = await look(context, requests, link, isFirst);
    if (isFirst && status && !options.json) terminal.say(describe(status));
    for (const drop of status?.drops ?? []) {
      if (!done.has(drop.uploadId)) done.set(drop.uploadId, await collectDrop(context, link, drop, folder, options));
    }
    if (!options.watch || (status && status.state !== 'open')) break;
    await sleep(WAIT_MS);
  }
  const failure = [...done.values()].find((error) => error !== undefined);
  if (failure) throw failure;
}

/** Undefined while the service cannot be reached, later on. */
async function look({ terminal, signal }: Context, requests: FileRequests, link: RequestLink, isFirst: boolean) {
  try {
    return await requests.list(link, { signal });
  } catch (error) {
    if (isFirst || !(error instanceof MayflyError) || !PASSING.includes(error.code)) throw error;
    terminal.say(`${error.message}; trying again`);
    return undefined;
  }
}

/** What went wrong with one drop, which keeps no other from its folder. */
async function collectDrop(context: Context, { id }: RequestLink, drop: Drop, parent: string, options: CollectOptions) {
  const { terminal } = context;
  const { uploadId, at, link } = drop;
  const day = at ? `${at.slice(0, 10)} ` : '';
  const folder = join(parent, `${day}${uploadId.slice(0, 8)}`);
  if (await exists(folder)) return undefined;
  const arriving = join(parent, `.${uploadId}`);
  try {
    if (link === undefined) throw new MayflyError('tampered', { message: 'It was not sealed for this request' });
    if (!drop.available) throw new MayflyError('expired', { message: 'It has expired, was used up or deleted' });
    const upload = await readLink(link);
    const client = openClient(terminal, upload.baseUrl);
    const saved = await saveUpload(context, client, upload, { ...options, output: `${arriving}/`, force: true });
    await rename(arriving, folder);
    const files = saved.map(({ path, size }) => ({ path: join(folder, path.slice(arriving.length + 1)), size }));
    if (options.json) terminal.print(jsonLine({ kind: 'drop', id: uploadId, requestId: id, at, folder, files }));
    else for (const { path } of files) terminal.print(`${path}\n`);
    return undefined;
  } catch (error) {
    if (!(error instanceof MayflyError || error instanceof CliError) || error.code === 'aborted') throw error;
    terminal.say(`Drop ${uploadId} could not be fetched. ${error.message}`);
    return error;
  }
}

/** The link to keep, or the id of a request that mayfly list has. */
async function findKeepLink(context: Context, linkOrId: string): Promise<RequestLink> {
  const link = await findRequest(context, linkOrId);
  if (link) return link;
  throw new CliError('usage', 'This is not the link of a request, nor the id of one that mayfly list has');
}

function describe({ title, state, drops, dropsLeft, maxDrops, expiresAt }: RequestStatus): string {
  const left = formatTimeLeft(Date.parse(expiresAt) - Date.now());
  const states = { open: `open for ${left}`, full: 'full', expired: 'over: its time has passed' };
  return `${printableName(title ?? 'Request')}: ${plural(drops.length, 'drop')}, ${dropsLeft} of ${maxDrops} left, ${states[state]}`;
}
