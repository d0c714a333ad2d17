import { randomBytes, randomUUID } from 'node:crypto';

/** What every new upload and note has. */
export const newItem = () => ({
  id: randomUUID(),
  authHash: randomBytes(32),
  ownerHash: randomBytes(32),
  salt: randomBytes(16).toString('base64url'),
  expireSec: 3600,
});
