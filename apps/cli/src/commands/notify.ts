import type { Hooks, Kind, MayflyClient, ServiceConfig } from '@mayfly/client';
import { newWebhook } from '@mayfly/client/node';
import type { Context } from '../context.ts';
import { CliError } from '../exit-codes.ts';
import { jsonLine } from '../json-line.ts';
import { findOwnItem, type OwnOptions } from '../own-item.ts';

export type NotifyOptions = OwnOptions & { off?: boolean };
type Webhook = Required<Hooks>['webhook'];

/** Has an address called whenever something that was sent is used, or not any more. */
export async function notify(context: Context, linkOrId: string, url: string | undefined, options: NotifyOptions) {
  const { terminal, signal } = context;
  if ((url === undefined) === !options.off) throw new CliError('usage', 'Give the address to be called, or --off');
  if (url !== undefined) checkAddress(url);
  const { kind, id, ownerSecret, client } = await findOwnItem(context, linkOrId, options);
  checkOffered(await client.getConfig({ signal }), url);
  if (url !== undefined) {
    const webhook = await callAddress(client, { kind, id, ownerSecret }, url, signal);
    return options.json
      ? terminal.print(jsonLine({ kind, id, notify: webhook }))
      : terminal.print(`${describeWebhook(kind, webhook)}\n`);
  }
  await client.setHooks({ kind, id }, { ownerSecret, signal });
  if (options.json) terminal.print(jsonLine({ kind, id, notify: null }));
  else terminal.say('Nobody is told of it any more.');
}

/** For what was sent just now: its owner gets the secret and the key that receivers need. */
export async function callAddress(
  client: MayflyClient,
  { ownerSecret, ...item }: { kind: Kind; id: string; ownerSecret: string },
  url: string,
  signal: AbortSignal,
): Promise<Webhook> {
  const webhook = newWebhook(url);
  await client.setHooks(item, { ownerSecret, signal }, { webhook });
  return webhook;
}

/** Before anything is sent. */
export function checkAddress(url: string) {
  if (!URL.canParse(url) || !url.startsWith('https://')) {
    throw new CliError('usage', 'The address that is called must begin with https://');
  }
}

/** Only some addresses may be called; which ones, the service says when it is asked to. */
export function checkOffered({ notices }: ServiceConfig, url: string | undefined) {
  if (notices === undefined || (url !== undefined && !notices.webhooks)) {
    throw new CliError('usage', 'This service calls no addresses');
  }
}

export function describeWebhook(kind: Kind | 'request', { url, secret, key }: Webhook): string {
  const use = { upload: 'download', note: 'view', request: 'drop' }[kind];
  return `Every ${use} is told to ${url}\n  key in each request: ${key}\n  signed with: ${secret} (Standard Webhooks)`;
}
