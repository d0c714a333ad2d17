import type { Created } from '@mayfly/client';
import { formatTimeLeft, plural } from '../amounts.ts';
import type { Context } from '../context.ts';

export type Report = Created & { server: string; name: string; expiresAt: string; maxUses: number };

/** Keeps the owner secret, then prints the link: alone on stdout, what it means on stderr. */
export async function reportCreated(
  { terminal, owned }: Context,
  { kind, id, link, ownerSecret, server, name, expiresAt, maxUses }: Report,
  { json, qr }: { json?: boolean; qr?: boolean },
) {
  const createdAt = new Date().toISOString();
  try {
    await owned.save({ kind, id, server, ownerSecret, name, createdAt, expiresAt });
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    // It is sent, and this is the only place left where its owner finds the secret.
    terminal.say(`The owner secret could not be kept (${why}). It is: ${ownerSecret}`);
  }
  if (json) {
    terminal.print(`${JSON.stringify({ kind, id, link, expiresAt, maxUses })}\n`);
    return;
  }
  terminal.print(`${link}\n`);
  if (qr) {
    const { renderUnicodeCompact } = await import('uqr');
    terminal.print(`${renderUnicodeCompact(link, { border: 2 })}\n`);
  }
  const uses = plural(maxUses, kind === 'note' ? 'view' : 'download');
  const left = formatTimeLeft(Date.parse(expiresAt) - Date.now());
  terminal.say(`Open for ${uses} or ${left}. To delete it before: mayfly delete ${id}`);
}
