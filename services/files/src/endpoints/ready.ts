import { Ok } from '@mayfly/shared/answers';
import type { App, FilesDeps } from '../deps.ts';

/**
 * For the gateway, not part of the contract. `/readyz`, for its health check: whether uploads can be stored and found now. `/livez`,
 * which asks no store: whether a replica that is silent answers at all.
 */
export function ready(app: App, { uploads, blobs }: FilesDeps) {
  app.get('/readyz', { schema: { hide: true, response: { 200: Ok } } }, async () => {
    await Promise.all([uploads.check(), blobs.check()]);
    return { ok: true as const };
  });
  app.get('/livez', { schema: { hide: true, response: { 200: Ok } } }, async () => ({ ok: true as const }));
}
