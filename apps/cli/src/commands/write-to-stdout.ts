import { exactArchive, type Link, type MayflyClient, type Metadata, readEntry, unpack } from '@mayfly/client';
import { release } from '@mayfly/client/node';
import { chooseFiles } from '../chosen-files.ts';
import type { Context } from '../context.ts';
import { CliError } from '../exit-codes.ts';
import { showProgress } from '../progress.ts';
import { type Begin, beginAnew } from '../receiving/begin.ts';
import { tellTrouble } from '../tell-trouble.ts';
import type { GetOptions } from './get-options.ts';

/** Writes an upload to stdout as it was sent, an archive as a zip; or one file of it. */
export async function writeToStdout(context: Context, client: MayflyClient, link: Link, options: GetOptions) {
  const { terminal, env } = context;
  const begin = await beginAnew(context, client, link, options);
  const { archive, files } = begin.metadata;
  const [index, ...others] = chooseFiles(files, options.only);
  const isOne = archive !== undefined && options.only !== undefined;
  if (isOne && others.length > 0) {
    throw new CliError('usage', `-o - writes one file, and --only names ${others.length + 1}: use -o FOLDER`);
  }
  if (!isOne && archive && terminal.stdout.isTTY && env.TERM !== 'dumb') {
    throw new CliError('usage', 'An archive is not written to a terminal: use -o FOLDER or a pipe');
  }
  using progress = showProgress(terminal.stderr, 'Receiving');
  const how = { signal: context.signal, ...tellTrouble(terminal, progress) };
  const stream = isOne ? await openFile(client, begin, index ?? 0, how) : await openWhole(client, begin, how);
  for await (const piece of stream) {
    await write(terminal.stdout, piece);
    release(piece);
  }
}

function write(stdout: NodeJS.WriteStream, piece: Uint8Array): Promise<void> {
  return new Promise((resolve, reject) => {
    stdout.write(piece, (error) => (error ? reject(error) : resolve()));
  });
}

type How = Pick<ReturnType<typeof tellTrouble>, 'onProgress' | 'onTrouble'> & { signal: AbortSignal };

async function openWhole(client: MayflyClient, { link, lease }: Begin, how: How) {
  const { metadata, payload } = await client.download(link, { ...how, downloadLeases: lease?.downloadLeases });
  return exactArchive(metadata, payload);
}

/** Where there are ranges, nothing of the other files travels. */
async function openFile(client: MayflyClient, { link, lease, metadata }: Begin, index: number, how: How) {
  if (lease) {
    const content = await client.openContent(link, { ...lease, ...how });
    const flush = () => content.end();
    return readEntry(content, index).pipeThrough(new TransformStream<Uint8Array, Uint8Array>({ flush }));
  }
  return fileOf(metadata, (await client.download(link, how)).payload, index);
}

function fileOf(metadata: Metadata, payload: ReadableStream<Uint8Array>, wanted: number): ReadableStream<Uint8Array> {
  async function* pieces() {
    let index = 0;
    for await (const { stream } of unpack(metadata, payload)) {
      if (index === wanted) yield* stream;
      index += 1;
    }
  }
  return ReadableStream.from(pieces());
}
