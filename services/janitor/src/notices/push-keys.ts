import { createECDH } from 'node:crypto';
import { type Config, ConfigError } from '@mayfly/shared/config';
import type { noticeSenderSettings } from '../settings.ts';
import type { PushKeys } from './requests.ts';

type PushConfig = Pick<Config<typeof noticeSenderSettings>, 'PUSH_PUBLIC_KEY' | 'PUSH_PRIVATE_KEY' | 'PUSH_CONTACT'>;

/** What push services know this service by; undefined without Web Push. Throws ConfigError when a half is missing, or belongs to another. */
export function pushKeysIn({
  PUSH_PUBLIC_KEY: publicKey,
  PUSH_PRIVATE_KEY,
  PUSH_CONTACT,
}: PushConfig): PushKeys | undefined {
  if (publicKey === undefined) return undefined;
  if (!PUSH_PRIVATE_KEY || !PUSH_CONTACT) {
    throw new ConfigError('PUSH_PRIVATE_KEY and PUSH_CONTACT are required with PUSH_PUBLIC_KEY');
  }
  const pair = createECDH('prime256v1');
  pair.setPrivateKey(PUSH_PRIVATE_KEY, 'base64url');
  if (!pair.getPublicKey().equals(Buffer.from(publicKey, 'base64url'))) {
    throw new ConfigError('PUSH_PRIVATE_KEY is not that of PUSH_PUBLIC_KEY');
  }
  return { publicKey, privateKey: PUSH_PRIVATE_KEY, contact: PUSH_CONTACT };
}
