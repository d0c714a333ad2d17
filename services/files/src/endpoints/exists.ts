import { errorAnswers } from '@mayfly/shared/answers';
import { parseId } from '@mayfly/shared/fields';
import Type from 'typebox';
import type { App, FilesDeps } from '../deps.ts';

const Exists = Type.Object({ exists: Type.Literal(true) });
const ExistsNot = Type.Object({ exists: Type.Literal(false) });
const ExistsNoMore = Type.Object({
  exists: Type.Literal(false),
  reason: Type.Union([Type.Literal('expired'), Type.Literal('limit_reached')]),
});

/** Contract: GET /api/exists/<id>. Its answers have `exists` and `reason` instead of `error`. */
export function exists(app: App, { uploads }: FilesDeps) {
  const schema = {
    operationId: 'uploadExists',
    tags: ['uploads'],
    summary: 'Whether the upload exists and is available',
    params: Type.Object({ id: Type.String() }),
    response: { 200: Exists, 404: ExistsNot, 410: ExistsNoMore, ...errorAnswers({}) },
  };
  app.get('/api/exists/:id', { schema }, async (request, reply) => {
    const id = parseId(request.params.id);
    const upload = id && (await uploads.find(id));
    if (!upload) return reply.code(404).send({ exists: false });
    if (upload.status !== 'available') return reply.code(410).send({ exists: false, reason: upload.status });
    return { exists: true as const };
  });
}
