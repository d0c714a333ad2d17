import { type Created, MayflyError, type ServiceConfig, uploadSize } from '@mayfly/client';
import { fileSpool } from '@mayfly/client/node';
import { chooseOption, formatBytes, formatDuration, parseDuration } from '../amounts.ts';
import { type CommonOptions, type Context, chosenServer, openClient } from '../context.ts';
import { CliError } from '../exit-codes.ts';
import { newPassword } from '../passwords.ts';
import { printableName } from '../printable.ts';
import { showProgress } from '../progress.ts';
import { collectSources } from '../sources.ts';
import { reportCreated } from './report-created.ts';

export type SendOptions = CommonOptions & {
  expires?: string;
  downloads?: number;
  password?: boolean;
  passwordFile?: string;
  name?: string;
  qr?: boolean;
};

const STDIN = '-';
const DAY_SEC = 86_400;

/** Encrypts files, folders or stdin, uploads them and prints the link. */
export async function send(context: Context, paths: string[], options: SendOptions) {
  const { terminal, owned, signal, config: own, env } = context;
  const isStdin = paths.includes(STDIN);
  if (isStdin && paths.length > 1) throw new CliError('usage', 'Stdin (-) is sent alone, not together with files');
  if (isStdin && terminal.stdin.isTTY) throw new CliError('usage', 'Nothing is piped in: tar c FOLDER | mayfly send -');
  if (options.name !== undefined && !isStdin) throw new CliError('usage', '--name is for stdin (-): files have a name');
  const files = isStdin
    ? []
    : await collectSources(paths, (path) => terminal.say(`Left out, not a file: ${printableName(path)}`));

  const server = chosenServer(context, options);
  const client = openClient(terminal, server);
  const config = await client.getConfig({ signal });
  const wanted = wantedUses(options, own, config);
  if (!isStdin) checkLimits(files, config);
  await owned.prepare();
  const isLocked = options.password || options.passwordFile;
  const password = isLocked ? await newPassword(terminal, { env, file: options.passwordFile }) : undefined;
  const upload = { ...wanted, signal, ...(password === undefined ? {} : { password }) };

  let created: Created;
  if (isStdin) {
    using reading = showProgress(terminal.stderr, 'Encrypting');
    const spool = fileSpool({ maxBytes: config.maxFileSize });
    const file = { name: options.name ?? 'stdin', stream: () => counted(terminal.stdin, reading.onProgress) };
    using progress = showProgress(terminal.stderr, 'Sending');
    created = await client.uploadStream(file, { ...upload, spool, onProgress: progress.onProgress });
  } else {
    using progress = showProgress(terminal.stderr, 'Sending');
    created = await client.uploadFiles(files, { ...upload, onProgress: progress.onProgress });
  }
  const name = isStdin ? (options.name ?? 'stdin') : files.map((file) => file.name).join(', ');
  const expiresAt = new Date(Date.now() + wanted.expireSec * 1000).toISOString();
  await reportCreated(context, { ...created, server, name, expiresAt, maxUses: wanted.maxDownloads }, options);
}

function wantedUses(options: SendOptions, own: Context['config'], config: ServiceConfig) {
  const expires = options.expires ?? own.expires;
  return {
    expireSec: chooseOption(
      expires === undefined ? undefined : parseDuration(expires),
      config.expireOptionsSec,
      DAY_SEC,
      {
        name: '--expires',
        format: formatDuration,
      },
    ),
    maxDownloads: chooseOption(options.downloads ?? own.downloads, config.downloadOptions, 1, {
      name: '--downloads',
      format: String,
    }),
  };
}

function checkLimits(files: Parameters<typeof uploadSize>[0], config: ServiceConfig) {
  if (files.length > config.maxFilesPerUpload) {
    throw new MayflyError('too-large', {
      message: `${files.length} files are more than the ${config.maxFilesPerUpload} that the service takes at once; send an archive of them: tar c FOLDER | mayfly send - --name FOLDER.tar`,
    });
  }
  const sizeBytes = uploadSize(files);
  if (sizeBytes > config.maxFileSize) {
    const [size, limit] = [sizeBytes, config.maxFileSize].map((bytes) => bytes.toLocaleString('en'));
    const message = `It has ${size} bytes when encrypted, ${limit} are what the service takes`;
    throw new MayflyError('too-large', { message: `${message} (${formatBytes(config.maxFileSize)})` });
  }
}

function counted(stdin: NodeJS.ReadStream, onProgress: (doneBytes: number, totalBytes: number) => void) {
  const pieces = stdin[Symbol.asyncIterator]();
  let doneBytes = 0;
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { value, done } = await pieces.next();
      if (done) return controller.close();
      doneBytes += value.length;
      onProgress(doneBytes, Number.POSITIVE_INFINITY);
      controller.enqueue(value);
    },
    async cancel() {
      await pieces.return?.();
    },
  });
}
