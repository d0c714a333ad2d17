import { Ok } from '@mayfly/shared/answers';
import type { App, FilesDeps } from '../deps.ts';

/** For the gateway's health check: whether uploads can be stored and found now. Not part of the contract. */
export function ready(app: App, { uploads, blobs }: FilesDeps) {
  app.get('/readyz', { schema: { hide: true, response: { 200: Ok } } }, async () => {
    await Promise.all([uploads.check(), blobs.check()]);
    return { ok: true as const };
  });
}
