import type { Created } from '@mayfly/client';
import { formatTimeLeft, plural } from '../amounts.ts';
import { type Context, openClient } from '../context.ts';
import { jsonLine } from '../json-line.ts';
import type { Terminal } from '../terminal.ts';
import { callAddress, describeWebhook } from './notify.ts';

export type Report = Created & { server: string; name: string; expiresAt: string; maxUses: number };

/** Keeps the owner secret, then prints the link unless it was announced: alone on stdout, what it means on stderr. */
export async function reportCreated(
  { terminal, owned, signal, config }: Context,
  { kind, id, link, ownerSecret, server, name, expiresAt, maxUses }: Report,
  { json, qr, notify, isAnnounced }: { json?: boolean; qr?: boolean; notify?: string; isAnnounced?: boolean },
) {
  const createdAt = new Date().toISOString();
  try {
    const item = { kind, id, server, ownerSecret, name, createdAt, expiresAt };
    await owned.save(config.keepLinks ? { ...item, link } : item);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    // It is sent, and this is the only place left where its owner finds the secret.
    terminal.say(`The owner secret could not be kept (${why}). It is: ${ownerSecret}`);
  }
  // Afterwards, since what was sent is there, whatever becomes of the rest.
  const told = async () =>
    notify === undefined
      ? undefined
      : callAddress(openClient(terminal, server), { kind, id, ownerSecret }, notify, signal);
  if (json) {
    const facts = { kind, id, link, expiresAt, maxUses };
    const webhook = await told().catch((error: unknown) => {
      terminal.print(jsonLine(facts));
      throw error;
    });
    terminal.print(jsonLine({ ...facts, ...(webhook ? { notify: webhook } : {}) }));
    return;
  }
  if (!isAnnounced) await printLink(terminal, link, qr);
  const uses = plural(maxUses, kind === 'note' ? 'view' : 'download');
  const left = formatTimeLeft(Date.parse(expiresAt) - Date.now());
  terminal.say(
    `${isAnnounced ? 'It is complete. ' : ''}Good for ${uses} or ${left}. To delete it sooner: mayfly delete ${id}`,
  );
  const webhook = await told();
  if (webhook) terminal.say(describeWebhook(kind, webhook));
}

/** The code goes where messages go: a program that takes stdout gets the link alone. */
export async function printLink(terminal: Terminal, link: string, qr?: boolean) {
  terminal.print(`${link}\n`);
  if (!qr) return;
  const { renderUnicodeCompact } = await import('uqr');
  terminal.say(renderUnicodeCompact(link, { border: 2 }));
}
