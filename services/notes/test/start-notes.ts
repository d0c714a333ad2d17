import { randomBytes } from 'node:crypto';
import { Writable } from 'node:stream';
import type { Notes } from '@mayfly/store/notes';
import { openDatabase } from '@mayfly/store/postgres/database';
import { postgresNotes } from '@mayfly/store/postgres/notes';
import { postgresOwnedNotes } from '@mayfly/store/postgres/owned-items';
import { freshDatabase, letTimePass } from '@mayfly/testing/stores';
import { pino } from 'pino';
import { buildNotes } from '../src/index.ts';
import type { ViewPatience } from '../src/large-views.ts';

const token = () => randomBytes(32).toString('base64url');
const salt = () => randomBytes(16).toString('base64url');

const limits = {
  NOTE_MAX_SIZE: 16 * 1024 * 1024,
  NOTE_EXPIRE_OPTIONS_SEC: [60],
  NOTE_VIEW_OPTIONS: [1, 2, 5],
  VIEW_REPEAT_SEC: 120,
  OWNER_CONTROL: 'yes' as const,
  USE_TIMES: 'minutes' as const,
  MAX_LIFETIME_SEC: undefined,
  WEBHOOK_HOSTS: undefined,
  PUSH_PUBLIC_KEY: undefined,
  PUSH_HOSTS: [],
};

type Options = { faults?: Partial<Notes>; viewPatience?: ViewPatience; maxBytes?: number };

/** The service on a database of its own, some of whose functions are others, and what it logs. */
export async function startNotes({ faults = {}, viewPatience, maxBytes }: Options = {}) {
  const stack = new AsyncDisposableStack();
  const { url: DATABASE_URL } = stack.use(await freshDatabase({ hasTables: true }));
  let logged = '';
  const stream = new Writable({
    write(chunk, _encoding, done) {
      logged += chunk;
      done();
    },
  });
  const logger = pino(stream);
  const db = stack.use(openDatabase({ DATABASE_URL, DATABASE_POOL_SIZE: 5 }, logger));
  const held = postgresNotes(db, { maxBytes });
  const notes = { ...held, ...faults };
  const app = stack.use(buildNotes({ notes, owned: postgresOwnedNotes(db), limits, logger, viewPatience }));

  const post = (url: string, payload: object, headers: Record<string, string> = {}) =>
    app.inject({ method: 'POST', url, payload, headers });
  return {
    app,
    held,
    logged: () => logged,
    pass: (seconds: number) => letTimePass(DATABASE_URL, seconds),
    /** A note that is there, with its tokens. Content is given as characters of base64. */
    async add({ contentLength = 24, ...fields }: { contentLength?: number; [field: string]: unknown } = {}) {
      const [authToken, ownerToken, encryptedContent] = [token(), token(), 'A'.repeat(contentLength)];
      const answer = await post('/api/note', {
        ...{ authToken, ownerToken, encryptedContent, salt: salt(), nonce: 'A'.repeat(16), contentType: 'text' },
        ...{ maxViews: 1, expireSec: 60, hasPassword: false, ...fields },
      });
      return { answer, id: answer.json().id as string, authToken, ownerToken, encryptedContent };
    },
    look: (id: string) => app.inject({ url: `/api/note/${id}` }),
    view: (id: string, authToken: string, headers?: Record<string, string>) =>
      post(`/api/note/${id}/view`, { authToken }, headers),
    checkPassword: (id: string, authToken: string) => post(`/api/note/${id}/password`, { authToken }),
    remove: (id: string, ownerToken: string) =>
      app.inject({ method: 'DELETE', url: `/api/note/${id}`, headers: { 'x-owner-token': ownerToken } }),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

export const PASSWORD = { hasPassword: true, passwordSalt: salt(), passwordAlgo: 'argon2id' };
