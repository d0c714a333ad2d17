import { randomUUID } from 'node:crypto';
import { errorAnswers } from '@mayfly/shared/answers';
import { HttpError, invalidRequest, NoRoom } from '@mayfly/shared/errors';
import { Base64, base64Bytes, Id, NoteNonce, OneOf, Timestamp, Token } from '@mayfly/shared/fields';
import { hashToken } from '@mayfly/shared/tokens';
import Type from 'typebox';
import type { App, FilesDeps } from '../../deps.ts';
import { noRoomForRequest } from '../../errors.ts';
import { linkTo } from '../../link.ts';

const BODY_BYTES = 16 * 1024;
/** Of MLKEM768-X25519, in base64. */
const PUBLIC_KEY = '^[A-Za-z0-9+/]{1621}[AQgw]==$';
const GREETING_BYTES = 4 * 1024;

/** Contract: POST /api/request. */
export function createRequest(app: App, { requests, limits, requestFunnel, newId = randomUUID }: FilesDeps) {
  const schema = {
    operationId: 'requestFiles',
    tags: ['requests'],
    summary: 'Ask for files',
    body: Type.Object({
      publicKey: Type.String({ pattern: PUBLIC_KEY, description: 'base64 of 1,216 bytes: MLKEM768-X25519' }),
      ownerToken: Token('the owner token'),
      maxDrops: OneOf(limits.REQUEST_DROP_OPTIONS, 'uploads that it takes'),
      maxBytes: Type.Integer({ minimum: 1, maximum: limits.REQUEST_MAX_BYTES, description: 'of all of them together' }),
      dropExpireSec: OneOf(limits.EXPIRE_OPTIONS_SEC, 'lifetime that each of them is to choose, in seconds'),
      dropMaxDownloads: OneOf(limits.DOWNLOAD_OPTIONS, 'downloads that each of them is to allow'),
      expireSec: OneOf(limits.REQUEST_EXPIRE_OPTIONS_SEC, 'seconds from now in which it takes them'),
      greeting: Type.Optional(Base64('what is asked for, encrypted; at most 4 KiB')),
      nonce: Type.Optional(NoteNonce),
    }),
    response: {
      201: Type.Object({ id: Id, url: Type.String(), expiresAt: Timestamp }),
      ...errorAnswers({
        400: invalidRequest({ maxDrops: ['is required'] }),
        413: new HttpError(413),
        507: noRoomForRequest(),
      }),
    },
  };
  app.post('/api/request', { schema, bodyLimit: BODY_BYTES }, async (request, reply) => {
    const { ownerToken, greeting, nonce, ...given } = request.body;
    if ((greeting === undefined) !== (nonce === undefined)) {
      throw invalidRequest({ [greeting === undefined ? 'greeting' : 'nonce']: ['is required'] });
    }
    if (greeting !== undefined && base64Bytes(greeting) > GREETING_BYTES) {
      throw invalidRequest({ greeting: [`must be at most ${GREETING_BYTES} bytes`] });
    }
    const id = newId();
    const words = greeting !== undefined && nonce !== undefined ? { greeting: { ciphertext: greeting, nonce } } : {};
    const { expiresAt } = await requests
      .add({ ...given, ...words, id, ownerHash: hashToken(ownerToken) })
      .catch((error) => {
        throw error instanceof NoRoom ? noRoomForRequest(error) : error;
      });
    requestFunnel('finished');
    reply.code(201);
    return { id, url: linkTo(id, request.headers, 'r'), expiresAt: expiresAt.toISOString() };
  });
}
