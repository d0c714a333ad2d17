import { errorAnswers } from '@mayfly/shared/answers';
import { Kind, parseId, Timestamp } from '@mayfly/shared/fields';
import Type from 'typebox';
import type { App, FilesDeps } from '../../deps.ts';
import { notBlocked } from '../../errors.ts';

/** Contract: GET /api/notice/<id>. Of what was not blocked it says nothing, not even whether it is there. */
export function notice(app: App, { blocks }: NonNullable<FilesDeps['desk']>) {
  const schema = {
    operationId: 'blockNotice',
    tags: ['service'],
    summary: 'Whether, when and why the operator has blocked it',
    params: Type.Object({ id: Type.String() }),
    response: {
      200: Type.Object({ blockedAt: Timestamp, kind: Kind }),
      ...errorAnswers({ 404: notBlocked() }),
    },
  };
  app.get('/api/notice/:id', { schema }, async ({ params }) => {
    const id = parseId(params.id);
    const block = id && (await blocks.find(id));
    if (!block) throw notBlocked();
    return { blockedAt: block.blockedAt.toISOString(), kind: block.kind };
  });
}
