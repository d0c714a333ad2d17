import { resolve } from 'node:path';
import {
  type Created,
  type MayflyClient,
  MayflyError,
  type PartOptions,
  type ServiceConfig,
  type Source,
  type UnfinishedUpload,
  type UploadOptions,
  uploadSize,
} from '@mayfly/client';
import { disposed, fileSpool } from '@mayfly/client/node';
import { chooseOption, chooseTime, formatLimit } from '../amounts.ts';
import {
  type Context,
  chosenServer,
  creatingTransport,
  isOnThisMachine,
  openClient,
  type SendingOptions,
} from '../context.ts';
import { CliError } from '../exit-codes.ts';
import { newPassword } from '../passwords.ts';
import { printableName } from '../printable.ts';
import { showProgress } from '../progress.ts';
import { collectSources, isFileName } from '../sources.ts';
import type { Terminal } from '../terminal.ts';
import { chooseUnfinished, continueSend } from './continue-send.ts';
import { checkAddress, checkOffered } from './notify.ts';
import { printLink } from './report-created.ts';
import { reportSent, whileSending } from './report-sent.ts';

export type SendOptions = SendingOptions & {
  expires?: string;
  downloads?: number;
  password?: boolean;
  passwordFile?: string;
  name?: string;
  /** Undefined when the command line does not say. */
  parts?: boolean;
  resume?: boolean;
  announce?: boolean;
};

const STDIN = '-';
const DAY_SEC = 86_400;

/** Encrypts files, folders or stdin, uploads them and prints the link. */
export async function send(context: Context, paths: string[], options: SendOptions) {
  const { terminal, owned, unfinished, signal, config: own, env } = context;
  const isStdin = paths.includes(STDIN);
  checkArguments(terminal, paths, options);
  const files = isStdin
    ? []
    : await collectSources(paths, (path) => terminal.say(`Skipped, not a file: ${printableName(path)}`), options.name);

  const server = chosenServer(context, options);
  const client = openClient(terminal, server, creatingTransport(context));
  const continued = isStdin ? undefined : await chooseUnfinished(context, client, { server, files }, options);
  if (continued) return continueSend(context, client, continued, files, options);
  const config = await client.getConfig({ signal });
  if (options.notify !== undefined) checkOffered(config, options.notify);
  const wanted = wantedUses(options, own, config);
  const parts = chosenParts(server, config, options);
  if (!isStdin) checkLimits(files, config, parts);
  await owned.prepare();
  if (parts.uploadParts) await unfinished.prepare();
  const isLocked = options.password || options.passwordFile;
  const password = isLocked ? await newPassword(terminal, { env, file: options.passwordFile }) : undefined;
  const { maxFilesPerUpload, sealedMetadata } = config;
  const announcement = announce(terminal, options);
  const upload = {
    ...wanted,
    ...parts,
    maxFilesPerUpload,
    sealedMetadata,
    password,
    onAnnounced: announcement.onAnnounced,
  };
  const name = isStdin ? (options.name ?? 'stdin') : files.map((file) => file.name).join(', ');
  const send = { server, name, expireSec: wanted.expireSec, maxUses: wanted.maxDownloads };
  let kept: UnfinishedUpload | undefined;
  const onUnfinished = async (upload: UnfinishedUpload) => {
    const createdAt = new Date().toISOString();
    const from = { paths: paths.map((path) => resolve(path)), givenName: options.name };
    await unfinished.save({ id: upload.id, createdAt, ...from, ...send, upload });
    kept = upload;
  };

  const work = (how: PartOptions) =>
    isStdin
      ? uploadStdin(terminal, client, { name, maxBytes: config.maxFileSize }, { ...upload, ...how })
      : client.uploadFiles(files, { ...upload, ...how, onUnfinished });
  const created = await whileSending(context, options, work, {
    keptId: () => kept?.id,
    cancel: async () => kept && client.cancelUpload(kept),
  });
  await reportSent(context, created, send, { ...options, isAnnounced: announcement.isPrinted });
}

async function uploadStdin(
  { stdin, stderr }: Terminal,
  client: MayflyClient,
  { name, maxBytes }: { name: string; maxBytes: number },
  options: UploadOptions,
) {
  using reading = showProgress(stderr, 'Encrypting');
  const onRead = options.uploadParts && options.inParts !== false ? () => {} : reading.onProgress; // read as it is sent
  const file = { name, stream: () => counted(stdin, onRead) };
  return await client.uploadStream(file, { ...options, spool: fileSpool({ maxBytes }) });
}

function checkArguments({ stdin }: Terminal, paths: string[], { name, resume, announce, parts, notify }: SendOptions) {
  const isStdin = paths.includes(STDIN);
  const problems: [boolean, string][] = [
    [isStdin && paths.length > 1, 'Stdin (-) is sent alone, not together with files'],
    [isStdin && stdin.isTTY, 'Nothing is piped in: tar c FOLDER | mayfly send -'],
    [name !== undefined && paths.length > 1, '--name is for one file or folder: these are several'],
    [name !== undefined && !isFileName(name), '--name is the name of a file or folder, without a path'],
    [isStdin && resume === true, '--resume is for files: stdin (-) cannot be read again'],
    [parts === false && resume === true, '--resume is for what is sent in parts, not for --no-parts'],
    [parts === false && announce === true, '--announce is for what is sent in parts, not for --no-parts'],
  ];
  if (notify !== undefined) checkAddress(notify);
  for (const [isWrong, sentence] of problems) if (isWrong) throw new CliError('usage', sentence);
}

/** The link is printed as soon as there is one, but JSON is one object at the end. */
function announce(terminal: Terminal, { announce, json, qr }: SendOptions) {
  const announcement = { isPrinted: false, onAnnounced: announce ? onAnnounced : undefined };
  async function onAnnounced({ link }: Created) {
    if (json) return;
    await printLink(terminal, link, qr);
    announcement.isPrinted = true;
    terminal.say('Whoever opens the link sees how far it is, and gets it once everything is sent.');
  }
  return announcement;
}

function wantedUses(options: SendOptions, own: Context['config'], config: ServiceConfig) {
  return {
    expireSec: chooseTime('--expires', options.expires ?? own.expires, config.expireOptionsSec, DAY_SEC),
    maxDownloads: chooseOption(options.downloads ?? own.downloads, config.downloadOptions, 1, {
      name: '--downloads',
      format: String,
    }),
  };
}

/** On this machine no network can be lost, and putting parts together costs the service a copy; but only parts have an early link. */
function chosenParts(server: string, { uploadParts }: ServiceConfig, { parts, announce }: SendOptions) {
  return { uploadParts: parts || announce || !isOnThisMachine(server) ? uploadParts : undefined, inParts: parts };
}

function checkLimits(files: Source[], config: ServiceConfig, parts: ReturnType<typeof chosenParts>) {
  const sizeBytes = uploadSize(files, parts);
  const { maxFileSize } = (parts.inParts !== false && parts.uploadParts) || config;
  if (sizeBytes > maxFileSize) {
    const [size, limit] = [sizeBytes, maxFileSize].map((bytes) => bytes.toLocaleString('en'));
    const message = `It is ${size} bytes when encrypted; the service accepts ${limit}`;
    throw new MayflyError('too-large', { message: `${message} (${formatLimit(maxFileSize)})` });
  }
}

function counted(stdin: NodeJS.ReadStream, onProgress: (doneBytes: number, totalBytes: number) => void) {
  const pieces = stdin[Symbol.asyncIterator]();
  /** From a descriptor: nobody else has what comes. */
  const isRead = 'fd' in stdin;
  let doneBytes = 0;
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { value, done } = await pieces.next();
      if (done) return controller.close();
      doneBytes += value.length;
      onProgress(doneBytes, Number.POSITIVE_INFINITY);
      controller.enqueue(isRead ? disposed(value) : value);
    },
    async cancel() {
      await pieces.return?.();
    },
  });
}
