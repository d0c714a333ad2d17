import { errorAnswers, Ok } from '@mayfly/shared/answers';
import { HttpError, invalidRequest } from '@mayfly/shared/errors';
import { Base64, base64Bytes, Kind, parseId, Token } from '@mayfly/shared/fields';
import { hashToken } from '@mayfly/shared/tokens';
import Type from 'typebox';
import type { App, FilesDeps } from '../../deps.ts';

const BODY_BYTES = 16 * 1024;
const TEXT_BYTES = 2 * 1024;
/** More than the first version of them takes, so that a next one fits. */
const ENC_BYTES = 2_048;
const SEALED_BYTES = 256;

/** Contract: POST /api/report/<id>. Nothing is asked of the item, so that the answer cannot tell anything of it, nor its time. */
export function report(
  app: App,
  { reports }: NonNullable<FilesDeps['desk']>,
  { REPORT_PUBLIC_KEY: operatorKey }: FilesDeps['limits'],
) {
  const schema = {
    operationId: 'report',
    tags: ['service'],
    summary: 'Tell the operator of an upload, a note or a request',
    params: Type.Object({ id: Type.String() }),
    body: Type.Object({
      kind: Kind,
      text: Type.Optional(Type.String({ description: 'for the operator; at most 2 KiB' })),
      authToken: Type.Optional(Token('shows that the reporter has what opens the item')),
      enc: Type.Optional(Base64('the encapsulated secret, of at most 2,048 bytes')),
      sealed: Type.Optional(Base64('what follows the # of the link, sealed for the operator; at most 256 bytes')),
    }),
    response: {
      202: Ok,
      ...errorAnswers({ 400: invalidRequest({ kind: ['is required'] }), 413: new HttpError(413) }),
    },
  };
  app.post('/api/report/:id', { schema, bodyLimit: BODY_BYTES }, async ({ params, body }, reply) => {
    const { kind, text = '', authToken, enc, sealed } = body;
    if (Buffer.byteLength(text) > TEXT_BYTES) throw invalidRequest({ text: [`must be at most ${TEXT_BYTES} bytes`] });
    if ((enc === undefined) !== (sealed === undefined)) {
      throw invalidRequest({ [enc === undefined ? 'enc' : 'sealed']: ['is required'] });
    }
    if (enc && base64Bytes(enc) > ENC_BYTES) throw invalidRequest({ enc: [`must be at most ${ENC_BYTES} bytes`] });
    if (sealed && base64Bytes(sealed) > SEALED_BYTES) {
      throw invalidRequest({ sealed: [`must be at most ${SEALED_BYTES} bytes`] });
    }
    const id = parseId(params.id);
    const isTaken = enc && sealed && operatorKey; // nobody could open it otherwise
    if (id) {
      await reports.add(id, {
        kind,
        text: text.replaceAll('\0', ''), // which PostgreSQL takes in no text
        authHash: authToken === undefined ? undefined : hashToken(authToken),
        disclosed: isTaken ? { enc, sealed } : undefined,
      });
    }
    reply.code(202);
    return { ok: true as const };
  });
}
