import { parseLink } from '@mayfly/client';
import { formatBytes, formatTimeLeft, plural } from '../amounts.ts';
import { type CommonOptions, type Context, openClient } from '../context.ts';
import { unlockLink } from '../passwords.ts';
import { printableName } from '../printable.ts';

export type InfoOptions = CommonOptions & { password?: boolean; passwordFile?: string };

/** Says what a link leads to. Spends nothing. */
export async function info({ terminal, env, signal }: Context, text: string, options: InfoOptions) {
  const link = parseLink(text);
  const client = openClient(terminal, link.baseUrl);
  if (link.kind === 'note') {
    const { contentType, hasPassword, viewCount, maxViews, expiresAt, createdAt } = await client.getNote(link, {
      signal,
    });
    const facts = { kind: 'note', id: link.id, contentType, hasPassword, viewCount, maxViews, expiresAt, createdAt };
    if (options.json) return terminal.print(`${JSON.stringify(facts)}\n`);
    terminal.print(`note (${printableName(contentType)})${hasPassword ? ', protected by a password' : ''}\n`);
    return terminal.print(`${left('view', maxViews - viewCount, maxViews, expiresAt)}\n`);
  }
  const first = await client.getInfo(link, { signal });
  const isAsked = first.hasPassword && (options.password || options.passwordFile);
  const opened = isAsked ? await unlockLink(terminal, client, link, { env, file: options.passwordFile }, signal) : link;
  const upload = opened === link ? first : await client.getInfo(opened, { signal });
  const { size, fileCount, hasPassword, downloadCount, maxDownloads, expiresAt, createdAt, metadata } = upload;
  if (options.json) {
    const files = metadata?.files;
    const facts = { kind: 'upload', id: link.id, size, fileCount, files, hasPassword, downloadCount, maxDownloads };
    return terminal.print(`${JSON.stringify({ ...facts, expiresAt, createdAt })}\n`);
  }
  const lines = [
    `${plural(fileCount, 'file')}, ${formatBytes(size)}${hasPassword ? ', protected by a password' : ''}`,
    ...(metadata?.files ?? []).map((file) => `  ${printableName(file.name)}  ${formatBytes(file.size)}`),
    ...(metadata || hasPassword ? [] : ['Its sender has not finished the upload.']),
    left('download', maxDownloads - downloadCount, maxDownloads, expiresAt),
  ];
  terminal.print(`${lines.join('\n')}\n`);
}

function left(use: string, count: number, of: number, expiresAt: string): string {
  return `${count} of ${plural(of, use)} left, for ${formatTimeLeft(Date.parse(expiresAt) - Date.now())}`;
}
