import { resolve } from 'node:path';
import {
  MayflyError,
  type ServiceConfig,
  type Source,
  type UnfinishedUpload,
  type UploadOptions,
  uploadSize,
} from '@mayfly/client';
import type { OpenedRequest } from '@mayfly/client/requests';
import { formatLimit, formatTimeLeft, plural } from '../amounts.ts';
import { type Context, isOnThisMachine, openClient, openRequests, type SendingOptions } from '../context.ts';
import { CliError } from '../exit-codes.ts';
import { printable, printableName } from '../printable.ts';
import { collectSources } from '../sources.ts';
import { chooseUnfinished, continueSend } from './continue-send.ts';
import { reportSent, whileSending } from './report-sent.ts';

export type DropOptions = SendingOptions & { resume?: boolean };

/** Sends files to whoever asked for them. No file is looked at before the service has shown the key that the link names. */
export async function drop(context: Context, text: string, paths: string[], options: DropOptions) {
  const { terminal, owned, unfinished, signal } = context;
  const { formatRequestLink, parseRequestLink } = await import('@mayfly/client/requests');
  const link = parseRequestLink(text);
  if (link.role === 'keep') {
    throw new CliError(
      'usage',
      'This link is not for senders: it opens what others have sent. Ask for the one to give away',
    );
  }
  const [server, dropLink] = [link.baseUrl, formatRequestLink(link)];
  const requests = await openRequests(terminal, server);
  const request = await requests.open(link, { signal });
  if (!options.json) terminal.say(describe(request));
  const files = await collectSources(paths, (path) => terminal.say(`Skipped, not a file: ${printableName(path)}`));

  const client = openClient(terminal, server, await requests.transportFor(request, { signal }));
  const continued = await chooseUnfinished(context, client, { server, files, dropLink }, options);
  if (continued) return continueSend(context, client, continued, files, options);
  const config = await client.getConfig({ signal });
  const uploadParts = isOnThisMachine(server) ? undefined : config.uploadParts;
  await checkRoom(request, files, { ...config, uploadParts });
  await owned.prepare();
  if (uploadParts) await unfinished.prepare();
  const { dropExpireSec: expireSec, dropMaxDownloads: maxDownloads } = request;
  const name = files.map((file) => file.name).join(', ');
  const send = { server, name, expireSec, maxUses: maxDownloads, dropLink };
  let kept: UnfinishedUpload | undefined;
  const onUnfinished = async (upload: UnfinishedUpload) => {
    const createdAt = new Date().toISOString();
    await unfinished.save({ id: upload.id, createdAt, paths: paths.map((path) => resolve(path)), ...send, upload });
    kept = upload;
  };
  const { maxFilesPerUpload } = config;
  const upload = { expireSec, maxDownloads, maxFilesPerUpload, uploadParts, onUnfinished };
  const created = await whileSending(context, options, (how) => client.uploadFiles(files, { ...upload, ...how }), {
    keptId: () => kept?.id,
    cancel: async () => kept && client.cancelUpload(kept),
  });
  await reportSent(context, created, send, options);
}

type Limits = Pick<ServiceConfig, 'maxFileSize'> & Pick<UploadOptions, 'uploadParts'>;

/** Before anything is sent. */
async function checkRoom(request: OpenedRequest, files: Source[], { maxFileSize, uploadParts }: Limits) {
  const sizeBytes = uploadSize(files, { uploadParts });
  (await import('@mayfly/client/requests')).checkRoom(request, sizeBytes);
  const limit = (uploadParts ?? { maxFileSize }).maxFileSize;
  if (sizeBytes > limit) {
    const message = `It is ${sizeBytes.toLocaleString('en')} bytes when encrypted; the service accepts ${formatLimit(limit)} at once`;
    throw new MayflyError('too-large', { message });
  }
}

function describe({ title, text, dropsLeft, bytesLeft, expiresAt }: OpenedRequest): string {
  const left = formatTimeLeft(Date.parse(expiresAt) - Date.now());
  return [
    `Somebody asks for: ${printableName(title ?? 'files')}`,
    ...(text ? [printable(text)] : []),
    `${plural(dropsLeft, 'drop')} left, ${formatLimit(bytesLeft)}, for ${left}`,
  ].join('\n');
}
