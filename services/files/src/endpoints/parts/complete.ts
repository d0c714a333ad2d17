import { setTimeout as sleep } from 'node:timers/promises';
import { ErrorBody, errorAnswers } from '@mayfly/shared/answers';
import { HttpError, invalidRequest } from '@mayfly/shared/errors';
import { Base64, Id, META_BODY_BYTES, Share, Token } from '@mayfly/shared/fields';
import type { Session } from '@mayfly/store/upload-sessions';
import Type, { type Static } from 'typebox';
import { type Completed, openCompletions } from '../../completion.ts';
import type { App, FilesDeps } from '../../deps.ts';
import { badOwnerToken, PartsMissing, sessionEnded, uploadGone, uploadNotFound } from '../../errors.ts';
import { findSession } from '../../find-session.ts';
import { assertAvailable, findOwned, ownerIn } from '../../find-upload.ts';
import { GIVE_BACK } from '../../give-back.ts';
import { isSealed } from '../../is-sealed.ts';
import { linkTo } from '../../link.ts';

/** Before the gateway gives up waiting for the head of an answer (15 seconds). */
const PATIENCE_MS = 8_000;
const ASK_AGAIN_SEC = 2;

const Body = Type.Object({
  length: Type.Integer({ minimum: 1, description: 'payload size in bytes' }),
  encryptedMeta: Type.Optional(Base64('the encrypted metadata, with its nonce or not at all')),
  nonce: Type.Optional(Base64('its nonce')),
  share: Type.Optional(Share),
});

const Missing = { ...Type.Object({ ...ErrorBody.properties, missing: Type.Optional(Type.String()) }) };

/** Contract: POST /api/parts/<id>/complete. It can be repeated at will, on any replica. */
export function completeParts(app: App, deps: FilesDeps) {
  const complete = openCompletions(deps);
  const answers = errorAnswers({
    400: invalidRequest({ length: ['must be that of all parts together'] }),
    401: badOwnerToken(),
    404: uploadNotFound(),
    409: new PartsMissing('18,20-22'),
    410: [sessionEnded(), uploadGone()],
    413: new HttpError(413),
  });
  const schema = {
    operationId: 'completeParts',
    tags: ['uploads'],
    summary: 'Make the upload of its parts',
    params: Type.Object({ id: Type.String() }),
    body: Body,
    response: {
      200: Type.Object({ id: Id, url: Type.String(), isSealed: Type.Optional(Type.Literal(true)) }),
      202: Type.Object({ state: Type.Literal('completing') }),
      ...answers,
      409: { ...answers[409], ...Missing },
    },
  };
  const config = { docs: { headers: Type.Object({ 'X-Owner-Token': Token('the owner token') }) } };
  app.post('/api/parts/:id/complete', { schema, config, bodyLimit: META_BODY_BYTES }, async (request, reply) => {
    const { body } = request;
    const meta = metaOf(body);
    const owner = ownerIn(request);
    const session = await findSession(deps, owner);
    if (!session) {
      const upload = await findOwned(deps.uploads, owner);
      assertAvailable(upload);
      return { id: upload.id, url: linkTo(upload.id, request.headers), ...isSealed(upload.meta?.share) };
    }
    assertLength(session, body.length);
    const completed = await Promise.race([
      complete(session, { lengthBytes: body.length, meta }),
      sleep(PATIENCE_MS, undefined, { ref: false }),
    ]);
    if (!completed) {
      return reply.code(202).header('retry-after', String(ASK_AGAIN_SEC)).send({ state: 'completing' });
    }
    giveBack(reply, completed);
    return { id: session.id, url: linkTo(session.id, request.headers), ...isSealed(meta?.share) };
  });
}

function metaOf({ encryptedMeta, nonce, share }: Static<typeof Body>) {
  if (encryptedMeta === undefined && nonce === undefined) return undefined;
  if (encryptedMeta === undefined) throw invalidRequest({ encryptedMeta: ['is required'] });
  if (nonce === undefined) throw invalidRequest({ nonce: ['is required'] });
  return { encryptedMeta, nonce, ...(share && { share }) };
}

function assertLength({ isExact, mostBytes }: Session, length: number) {
  if (isExact && length !== mostBytes) throw invalidRequest({ length: [`must be ${mostBytes}, as declared`] });
  if (length > mostBytes) throw invalidRequest({ length: [`must be at most ${mostBytes}, as declared`] });
}

/** The first answer of those that share the work. */
function giveBack(reply: { header(name: string, value: string): unknown }, completed: Completed) {
  if (completed.givenBackBytes === undefined) return;
  reply.header(GIVE_BACK, String(completed.givenBackBytes));
  completed.givenBackBytes = undefined;
}
