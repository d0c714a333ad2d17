import Type, { type Static } from 'typebox';
import type { Config } from './config.ts';
import { invalidRequest } from './errors.ts';
import { allowedHost } from './notice-hosts.ts';
import type { ownerSettings } from './settings.ts';

// Whom owners may have told of uses, whatever they own. Contract 14.

export type NoticeLimits = Config<typeof ownerSettings>;

/** What this service offers: `pushKey` where it tells browsers, `webhooks` where it calls addresses; undefined when neither. */
export function noticeKinds(limits: NoticeLimits): { pushKey?: string; webhooks?: true } | undefined {
  const { OWNER_CONTROL, PUSH_PUBLIC_KEY: pushKey, WEBHOOK_HOSTS } = limits;
  if (OWNER_CONTROL === 'no' || (pushKey === undefined && WEBHOOK_HOSTS === undefined)) return undefined;
  return { ...(pushKey === undefined ? {} : { pushKey }), ...(WEBHOOK_HOSTS ? { webhooks: true } : {}) };
}

/** 24 to 64 bytes behind `whsec_`, as Standard Webhooks has it. */
const SECRET = '^whsec_(?:[A-Za-z0-9+/]{4}){8,21}(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$';
const Address = (description: string) => Type.String({ minLength: 1, maxLength: 1_024, description });
const Key = Type.String({
  pattern: '^[A-Za-z0-9_-]{1,64}$',
  description: 'any text by which the receiver knows the item; every notice bears it',
});

export const HooksBody = Type.Object({
  push: Type.Optional(
    Type.Object(
      {
        endpoint: Address('of the push subscription'),
        keys: Type.Object({
          p256dh: Type.String({ pattern: '^[A-Za-z0-9_-]{87}=?$', description: 'base64url of 65 bytes' }),
          auth: Type.String({ pattern: '^[A-Za-z0-9_-]{22}(?:==)?$', description: 'base64url of 16 bytes' }),
        }),
        key: Key,
      },
      { description: 'a browser, by its subscription to Web Push' },
    ),
  ),
  webhook: Type.Optional(
    Type.Object(
      {
        url: Address('https:// address of an allowed host'),
        secret: Type.String({ pattern: SECRET, description: 'what requests are signed with (Standard Webhooks)' }),
        key: Key,
      },
      { description: 'an address that is sent a signed request' },
    ),
  ),
});

/** The hooks of a request as they are kept. 400 when it names none, or one that is not offered here. */
export function hooksIn({ push, webhook }: Static<typeof HooksBody>, limits: NoticeLimits) {
  const { PUSH_HOSTS, WEBHOOK_HOSTS } = limits;
  const kinds = noticeKinds(limits);
  if (!push && !webhook) throw invalidRequest({ webhook: ['or push is required'] });
  if (push && kinds?.pushKey === undefined) throw invalidRequest({ push: ['is not offered'] });
  if (webhook && !kinds?.webhooks) throw invalidRequest({ webhook: ['is not offered'] });
  const endpointHost = push && allowedHost(push.endpoint, PUSH_HOSTS);
  if (push && !endpointHost) throw invalidRequest({ push: ['endpoint must be of a known push service'] });
  const host = webhook && allowedHost(webhook.url, WEBHOOK_HOSTS ?? []);
  if (webhook && !host) throw invalidRequest({ webhook: ['url must be an https:// address of an allowed host'] });
  return {
    ...(push && endpointHost
      ? { push: { host: endpointHost, endpoint: push.endpoint, ...push.keys, key: push.key } }
      : {}),
    ...(webhook && host ? { webhook: { host, ...pick(webhook) } } : {}),
  };
}

const pick = ({ url, secret, key }: { url: string; secret: string; key: string }) => ({ url, secret, key });
