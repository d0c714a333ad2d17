import { randomUUID } from 'node:crypto';
import { errorAnswers } from '@mayfly/shared/answers';
import { invalidRequest, NoRoom } from '@mayfly/shared/errors';
import {
  Base64,
  base64Bytes,
  ContentType,
  canonicalBase64url,
  Id,
  NoteNonce,
  OneOf,
  PasswordAlgo,
  Salt,
  Timestamp,
  Token,
} from '@mayfly/shared/fields';
import { hashToken } from '@mayfly/shared/tokens';
import Type, { type Static } from 'typebox';
import type { App, NotesDeps } from '../deps.ts';
import { NOTE_TOO_LARGE, noRoomForNote, noteTooLarge } from '../errors.ts';

/** Contract: allowance for the GCM overhead. */
const GCM_ALLOWANCE_BYTES = 256;
/** Everything in the body but the content, generously. */
const OTHER_FIELDS_BYTES = 16 * 1024;

type NewNoteBody = Static<ReturnType<typeof newNoteBody>>;

/** Contract: Note creation fields. */
function newNoteBody(limits: NotesDeps['limits']) {
  return Type.Object(
    {
      encryptedContent: Base64('the AES-256-GCM ciphertext'),
      nonce: NoteNonce,
      salt: Salt('the HKDF salt'),
      ownerToken: Token('the owner token'),
      authToken: Token('the auth token'),
      contentType: ContentType,
      maxViews: OneOf(limits.NOTE_VIEW_OPTIONS, 'view limit'),
      expireSec: OneOf(limits.NOTE_EXPIRE_OPTIONS_SEC, 'lifetime in seconds'),
      hasPassword: Type.Boolean(),
      passwordSalt: Type.Optional(Salt('the password salt; required with a password')),
      passwordAlgo: Type.Optional(PasswordAlgo),
    },
    {
      if: { properties: { hasPassword: { const: true } }, required: ['hasPassword'] },
      // biome-ignore lint/suspicious/noThenProperty: the keyword's name in JSON Schema
      then: { required: ['passwordSalt', 'passwordAlgo'] },
    },
  );
}

/** Contract: POST /api/note. */
export function createNote(app: App, { notes, limits, funnel, newId = randomUUID }: NotesDeps) {
  const maxContentBytes = limits.NOTE_MAX_SIZE + GCM_ALLOWANCE_BYTES;
  app.route({
    method: 'POST',
    url: '/api/note',
    bodyLimit: Math.ceil(maxContentBytes / 3) * 4 + OTHER_FIELDS_BYTES,
    config: { tooLarge: NOTE_TOO_LARGE },
    schema: {
      operationId: 'createNote',
      tags: ['notes'],
      summary: 'Create an encrypted note',
      body: newNoteBody(limits),
      response: {
        201: Type.Object({ id: Id, expiresAt: Timestamp }),
        ...errorAnswers({ 400: invalidRequest({ nonce: ['is required'] }), 413: noteTooLarge(), 507: noRoomForNote() }),
      },
    },
    preValidation: async (request) => ignorePasswordFieldsWithoutPassword(request.body),
    handler: async (request, reply) => {
      const { body } = request;
      if (base64Bytes(body.encryptedContent) > maxContentBytes) throw noteTooLarge();
      const id = newId();
      const { expiresAt } = await notes.add({ id, ...toNewNote(body) }).catch(withoutRoom);
      funnel('finished');
      return reply.code(201).send({ id, expiresAt: expiresAt.toISOString() });
    },
  });
}

function withoutRoom(error: unknown): never {
  throw error instanceof NoRoom ? noRoomForNote(error) : error;
}

/** Without a password its fields mean nothing, whatever they hold. */
function ignorePasswordFieldsWithoutPassword(body: unknown) {
  if (typeof body !== 'object' || body === null) return;
  const fields = body as Record<string, unknown>; // any object may be read so
  if (fields.hasPassword !== false) return;
  delete fields.passwordSalt;
  delete fields.passwordAlgo;
}

function toNewNote(body: NewNoteBody) {
  const { passwordSalt, passwordAlgo } = body;
  return {
    authHash: hashToken(body.authToken),
    ownerHash: hashToken(body.ownerToken),
    salt: canonicalBase64url(body.salt),
    encryptedContent: body.encryptedContent,
    nonce: body.nonce,
    contentType: body.contentType,
    ...(passwordSalt && passwordAlgo
      ? { password: { algo: passwordAlgo, salt: canonicalBase64url(passwordSalt) } }
      : {}),
    maxViews: body.maxViews,
    expireSec: body.expireSec,
  };
}
