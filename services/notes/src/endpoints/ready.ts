import { Ok } from '@mayfly/shared/answers';
import type { App, NotesDeps } from '../deps.ts';

/** For the gateway's health check: whether notes can be stored and found now. Not part of the contract. */
export function ready(app: App, { notes }: NotesDeps) {
  app.get('/readyz', { schema: { hide: true, response: { 200: Ok } } }, async () => {
    await notes.check();
    return { ok: true as const };
  });
}
