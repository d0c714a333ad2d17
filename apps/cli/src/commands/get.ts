import { type Context, openClient } from '../context.ts';
import { CliError } from '../exit-codes.ts';
import { readLink } from '../read-link.ts';
import { getNote } from './get-note.ts';
import type { GetOptions } from './get-options.ts';
import { getUpload } from './get-upload.ts';

/** Fetches what a link leads to. Everything that can be found wrong is found before a download or a view is spent. */
export async function get(context: Context, text: string, options: GetOptions) {
  const link = await readLink(text);
  const client = openClient(context.terminal, link.baseUrl);
  if (link.kind === 'upload') return getUpload(context, client, link, { ...options, output: options.output ?? '.' });
  if (options.only) throw new CliError('usage', '--only is for files, and this is a note');
  return getNote(context, client, link, options);
}
