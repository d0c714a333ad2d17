import { createHmac } from 'node:crypto';
import type { PushHook, WebHook } from '@mayfly/store/hooks';
import type { Notice, NoticeEvent } from '@mayfly/store/notices';
import webPush from 'web-push';
import type { Outgoing } from './post.ts';

export type ItemKind = 'upload' | 'note' | 'request';
/** What push services know this service by (VAPID). */
export type PushKeys = { publicKey: string; privateKey: string; contact: string };

/** What a use is called. */
const EVENTS: Record<ItemKind, Partial<Record<NoticeEvent, string>>> = {
  upload: { used: 'downloaded', whole: 'received' },
  note: { used: 'viewed' },
  request: { dropped: 'received' },
};
const nameOf = (item: ItemKind, event: NoticeEvent) => `${item}.${EVENTS[item][event] ?? event}`;
/** How long a push service keeps what it cannot deliver. */
const PUSH_TTL_SEC = 3 * 86_400;

/** A request as Standard Webhooks 1.0 has it. The time is that of the attempt; the signature is made for it. */
export function webhookRequest(item: ItemKind, { id, event, at }: Notice, hook: WebHook, now = Date.now()): Outgoing {
  const body = JSON.stringify({
    type: nameOf(item, event),
    timestamp: (at ?? new Date(now)).toISOString(),
    data: { key: hook.key },
  });
  const [name, seconds] = [`msg_${id}`, Math.floor(now / 1000)];
  const secret = Buffer.from(hook.secret.replace(/^whsec_/, ''), 'base64');
  const signature = createHmac('sha256', secret).update(`${name}.${seconds}.${body}`).digest('base64');
  const headers = {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
    'user-agent': 'Mayfly',
    'webhook-id': name,
    'webhook-timestamp': seconds,
    'webhook-signature': `v1,${signature}`,
  };
  return { url: hook.url, headers, body };
}

/** A message of Web Push (RFC 8030), encrypted for the browser (RFC 8291), from a service that is known by its key (RFC 8292). */
export function pushRequest(item: ItemKind, { id, event }: Notice, hook: PushHook, keys: PushKeys): Outgoing {
  const message = JSON.stringify({ id, event: nameOf(item, event), key: hook.key });
  const { cipherText } = webPush.encrypt(hook.p256dh, hook.auth, message, 'aes128gcm');
  const { origin } = new URL(hook.endpoint);
  const { Authorization: authorization } = webPush.getVapidHeaders(
    origin,
    keys.contact,
    keys.publicKey,
    keys.privateKey,
    'aes128gcm',
  );
  const headers = {
    authorization,
    'content-type': 'application/octet-stream',
    'content-encoding': 'aes128gcm',
    'content-length': cipherText.length,
    ttl: PUSH_TTL_SEC,
    urgency: 'normal',
  };
  return { url: hook.endpoint, headers, body: cipherText };
}
