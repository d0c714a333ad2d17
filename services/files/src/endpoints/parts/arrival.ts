import { errorAnswers } from '@mayfly/shared/answers';
import { parseId, Timestamp } from '@mayfly/shared/fields';
import { lengthOf } from '@mayfly/store/blob-parts';
import Type from 'typebox';
import type { App, FilesDeps } from '../../deps.ts';
import { uploadNotFound } from '../../errors.ts';
import { Length } from './state.ts';

/** Contract: GET /api/arrival/<id>. How far an upload is whose sender wants its recipients to know. */
export function arrival(app: App, { sessions }: FilesDeps) {
  const schema = {
    operationId: 'getArrival',
    tags: ['uploads'],
    summary: 'How far an announced upload is',
    params: Type.Object({ id: Type.String() }),
    response: {
      200: Type.Object({
        state: Type.Literal('arriving'),
        length: Length,
        storedBytes: Type.Integer(),
        endsAt: Timestamp,
      }),
      ...errorAnswers({ 404: uploadNotFound() }),
    },
  };
  app.get('/api/arrival/:id', { schema }, async (request) => {
    const id = parseId(request.params.id);
    const session = id && (await sessions.find(id));
    if (!session || session.hasEnded || !session.isAnnounced) throw uploadNotFound();
    return {
      state: 'arriving' as const,
      length: session.isExact ? session.mostBytes : null,
      storedBytes: lengthOf(await sessions.parts(session.id)),
      endsAt: session.endsAt.toISOString(),
    };
  });
}
