import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify';
import { HttpError, invalidRequest, LENGTH_MISMATCH, serviceUnavailable, Unavailable } from './errors.ts';
import { logOutage } from './outage-log.ts';

/** Answers with what was thrown, and logs what is not the client's doing. Contract: Errors. */
export function sendError(error: unknown, request: FastifyRequest, reply: FastifyReply) {
  const answer = inWordsOf(request, toHttpError(error));
  if (answer.statusCode === 503 || answer.statusCode === 507) logOutage(request.log, answer.cause);
  else if (answer.statusCode >= 500) {
    request.log.error({ err: answer.cause ?? answer, route: request.routeOptions?.url }, answer.message);
  }
  // Fastify would close the connection after a bad body; the rest is drained instead, so that the client sees the answer.
  reply.removeHeader('connection');
  return reply.code(answer.statusCode).headers(answer.headers).send(answer.body);
}

/** A route may have its own sentence for a body over its limit (`config.tooLarge`). Contract: Errors, 413. */
function inWordsOf(request: FastifyRequest, answer: HttpError): HttpError {
  const sentence = answer.statusCode === 413 ? request.routeOptions?.config?.tooLarge : undefined;
  return sentence ? new HttpError(413, sentence) : answer;
}

function toHttpError(error: unknown): HttpError {
  if (error instanceof HttpError) return error;
  if (error instanceof Unavailable) return serviceUnavailable(error);
  const { code, statusCode, validation, validationContext = 'body' } = error as Partial<FastifyError>;
  if (validation) return invalidRequest(problemsByField(validation, validationContext));
  if (code === 'FST_ERR_CTP_INVALID_JSON_BODY') return invalidRequest({ body: ['must be valid JSON'] });
  if (error instanceof SyntaxError) return invalidRequest({ body: ['must be valid JSON'] });
  if (code === 'FST_ERR_CTP_INVALID_CONTENT_LENGTH') return invalidRequest(LENGTH_MISMATCH);
  if (statusCode && statusCode >= 400 && statusCode < 500) return new HttpError(statusCode);
  return new HttpError(500, undefined, { cause: error });
}

/** The fields at fault with their reasons, from the validator's findings. */
export function problemsByField(validation: NonNullable<FastifyError['validation']>, context: string) {
  const details: Record<string, string[]> = {};
  for (const problem of validation as Problem[]) {
    if (problem.keyword === 'if') continue; // its branch has said what is wrong
    const missing = problem.keyword === 'required' ? String(problem.params.missingProperty) : undefined;
    const field = [problem.instancePath.slice(1), missing].filter(Boolean).join('/') || context;
    details[field] = [...new Set([...(details[field] ?? []), reasonOf(problem)])];
  }
  return details;
}

type Problem = NonNullable<FastifyError['validation']>[number] & { parentSchema?: { description?: string } };

function reasonOf({ keyword, params, message = 'is not valid', parentSchema }: Problem): string {
  if (keyword === 'required') return 'is required';
  if (keyword === 'enum') return `must be one of ${(params.allowedValues as unknown[]).join(', ')}`;
  if (keyword === 'pattern' && parentSchema?.description) return `must be ${parentSchema.description}`;
  return message;
}
