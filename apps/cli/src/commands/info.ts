import { formatBytes, plural, usesLeft } from '../amounts.ts';
import { type CommonOptions, type Context, openClient } from '../context.ts';
import { jsonLine } from '../json-line.ts';
import { type UnlockOptions, unlockLink } from '../passwords.ts';
import { printableName } from '../printable.ts';
import { readLink } from '../read-link.ts';
import { findUpload } from './arriving.ts';

export type InfoOptions = CommonOptions & UnlockOptions & { password?: boolean };

/** Says what a link leads to. Spends nothing. */
export async function info(context: Context, text: string, options: InfoOptions) {
  const { terminal, signal } = context;
  const link = await readLink(text);
  const client = openClient(terminal, link.baseUrl);
  if (link.kind === 'note') {
    const { contentType, hasPassword, viewCount, maxViews, expiresAt, createdAt } = await client.getNote(link, {
      signal,
    });
    const facts = { kind: 'note', id: link.id, contentType, hasPassword, viewCount, maxViews, expiresAt, createdAt };
    if (options.json) return terminal.print(jsonLine(facts));
    terminal.print(`note${contentType ? ` (${contentType})` : ''}${hasPassword ? ', protected by a password' : ''}\n`);
    return terminal.print(`${usesLeft('view', maxViews - viewCount, maxViews, expiresAt)}\n`);
  }
  const first = await findUpload(context, client, link, {});
  const isAsked = first.hasPassword && (options.password || options.passwordFile);
  const opened = isAsked ? await unlockLink(context, client, link, first, options) : link;
  const upload = opened === link ? first : await client.getInfo(opened, { signal });
  const { size, hasPassword, downloadCount, maxDownloads, expiresAt, createdAt, metadata } = upload;
  const fileCount = metadata?.files.length ?? upload.fileCount; // the service counts a large archive as one
  if (options.json) {
    const files = metadata?.files;
    const facts = { kind: 'upload', id: link.id, size, fileCount, files, hasPassword, downloadCount, maxDownloads };
    return terminal.print(jsonLine({ ...facts, expiresAt, createdAt }));
  }
  const lines = [
    `${plural(fileCount, 'file')}, ${formatBytes(size)}${hasPassword ? ', protected by a password' : ''}`,
    ...(metadata?.files ?? []).map((file) => `  ${printableName(file.name)}  ${formatBytes(file.size)}`),
    ...(metadata || hasPassword ? [] : ['Its sender has not finished the upload.']),
    usesLeft('download', maxDownloads - downloadCount, maxDownloads, expiresAt),
  ];
  terminal.print(`${lines.join('\n')}\n`);
}
