import { errorAnswers } from '@mayfly/shared/answers';
import { HttpError } from '@mayfly/shared/errors';
import { Timestamp, TOKEN_BODY_BYTES, Token } from '@mayfly/shared/fields';
import { lengthOf } from '@mayfly/store/blob-parts';
import Type from 'typebox';
import type { App, FilesDeps } from '../../deps.ts';
import { badOwnerToken, sessionEnded, uploadGone, uploadNotFound } from '../../errors.ts';
import { findSession } from '../../find-session.ts';
import { assertAvailable, findOwned, ownerIn } from '../../find-upload.ts';
import { rangesOf } from '../../ranges.ts';

/** In bytes, or null while nobody knows it. */
export const Length = Type.Unsafe<number | null>({
  type: ['integer', 'null'],
  description: 'null while it is unknown',
});

const State = Type.Union([
  Type.Object({
    state: Type.Union([Type.Literal('open'), Type.Literal('completing')]),
    partBytes: Type.Integer(),
    length: Length,
    stored: Type.String({ description: 'numbers of the parts that are stored, such as 1-17,19' }),
    bytes: Type.Integer({ description: 'of these parts' }),
    endsAt: Timestamp,
  }),
  Type.Object({ state: Type.Literal('complete'), length: Type.Integer(), bytes: Type.Integer() }),
]);

/** Contract: GET /api/parts/<id>. What is stored, for whoever goes on with an upload. */
export function partsState(app: App, deps: FilesDeps) {
  const schema = {
    operationId: 'getParts',
    tags: ['uploads'],
    summary: 'Which parts of an upload are stored',
    params: Type.Object({ id: Type.String() }),
    response: {
      200: State,
      ...errorAnswers({
        401: badOwnerToken(),
        404: uploadNotFound(),
        410: [sessionEnded(), uploadGone()],
        413: new HttpError(413),
      }),
    },
  };
  const config = { docs: { headers: Type.Object({ 'X-Owner-Token': Token('the owner token') }) } };
  app.get('/api/parts/:id', { schema, config, bodyLimit: TOKEN_BODY_BYTES }, async (request) => {
    const owner = ownerIn(request);
    const session = await findSession(deps, owner);
    if (!session) {
      const upload = await findOwned(deps.uploads, owner);
      assertAvailable(upload);
      return { state: 'complete' as const, length: upload.sizeBytes, bytes: upload.sizeBytes };
    }
    const parts = await deps.sessions.parts(session.id);
    return {
      state: session.isSealed ? ('completing' as const) : ('open' as const),
      partBytes: session.partBytes,
      length: session.isExact ? session.mostBytes : null,
      stored: rangesOf(parts.map(({ number }) => number)),
      bytes: lengthOf(parts),
      endsAt: session.endsAt.toISOString(),
    };
  });
}
