import { text as readText } from 'node:stream/consumers';
import { MayflyError, type NoteContentType } from '@mayfly/client';
import { chooseOption, chooseTime, formatLimit } from '../amounts.ts';
import { type CommonOptions, type Context, chosenServer, creatingTransport, openClient } from '../context.ts';
import { CliError } from '../exit-codes.ts';
import { newPassword } from '../passwords.ts';
import type { Terminal } from '../terminal.ts';
import { checkAddress, checkOffered } from './notify.ts';
import { reportCreated } from './report-created.ts';

export const NOTE_TYPES = ['text', 'markdown', 'code', 'password', 'sshkey'] as const satisfies NoteContentType[];

export type NoteOptions = CommonOptions & {
  type: NoteContentType;
  name?: string;
  expires?: string;
  views?: number;
  password?: boolean;
  passwordFile?: string;
  qr?: boolean;
  notify?: string;
};

const DAY_SEC = 86_400;

/** Encrypts a text, stores it and prints the link. */
export async function note(context: Context, words: string | undefined, options: NoteOptions) {
  const { terminal, owned, signal, config: own, env } = context;
  const server = chosenServer(context, options);
  if (options.notify !== undefined) checkAddress(options.notify);
  const text = await noteText(terminal, words, options.type);
  const client = openClient(terminal, server, creatingTransport(context));
  const config = await client.getConfig({ signal });
  if (options.notify !== undefined) checkOffered(config, options.notify);
  const expireSec = chooseTime('--expires', options.expires ?? own.expires, config.noteExpireOptionsSec, DAY_SEC);
  const maxViews = chooseOption(options.views ?? own.views, config.noteViewOptions, 1, {
    name: '--views',
    format: String,
  });
  const sizeBytes = Buffer.byteLength(text);
  if (sizeBytes > config.noteMaxSize) {
    const [size, limit] = [sizeBytes, config.noteMaxSize].map((bytes) => bytes.toLocaleString('en'));
    const most = `${limit} bytes (${formatLimit(config.noteMaxSize)})`;
    throw new MayflyError('too-large', {
      message: `A note can have at most ${most}; this has ${size}: send it as a file`,
    });
  }
  await owned.prepare();
  const password =
    options.password || options.passwordFile
      ? await newPassword(terminal, { env, file: options.passwordFile })
      : undefined;
  const created = await client.createNote(text, {
    contentType: options.type,
    expireSec,
    maxViews,
    noteMaxSize: config.noteMaxSize,
    signal,
    ...(password === undefined ? {} : { password }),
  });
  await reportCreated(
    context,
    { ...created, server, name: options.name ?? `note (${options.type})`, maxUses: maxViews },
    options,
  );
}

async function noteText(terminal: Terminal, words: string | undefined, type: NoteContentType): Promise<string> {
  if (words !== undefined && words !== '-') return words;
  if (terminal.stdin.isTTY && words === undefined && type === 'password') {
    const secret = await terminal.askHidden('Text of the note');
    if (!secret) throw new CliError('usage', 'The note is empty');
    return secret;
  }
  if (terminal.stdin.isTTY) terminal.say('Type the note; Ctrl-D on a line of its own ends it.');
  const text = await readText(terminal.stdin);
  // What echo and editors put at the end is no part of a password.
  const content = type === 'password' ? text.replace(/\r?\n$/, '') : text;
  if (content === '') throw new CliError('usage', 'The note is empty');
  return content;
}
