import { STATUS_CODES } from 'node:http';
import swagger from '@fastify/swagger';
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import type { TSchema } from 'typebox';
import { errorAnswers } from './answers.ts';
import type { App } from './app.ts';
import { HttpError } from './errors.ts';

/** What the reference tells of a route beyond its validating schemas. */
export type RouteDocs = {
  /** Request headers that the handler checks itself, under the contract's names. */
  headers?: TSchema;
  /** Media type of a body that is bytes. */
  consumes?: string;
  /** Media type of a 200 or 206 answer that is bytes, and its headers. */
  produces?: string;
  answerHeaders?: Record<string, TSchema>;
};

declare module 'fastify' {
  interface FastifyContextConfig {
    docs?: RouteDocs;
  }
}

/** What every JSON body may be answered with. */
const BODY_ERRORS = { 413: new HttpError(413), 415: new HttpError(415) };

type Answers = Record<string, Record<string, unknown>>;
type Schema = Record<string, unknown> & { response?: Answers };

/** Adds endpoints, and `GET /openapi.json` that describes them from the schemas that validate (OpenAPI 3.1). */
export function describedEndpoints(app: App, add: (scope: App) => void): void {
  app.register(swagger, {
    openapi: { openapi: '3.1.0', info: { title: 'Mayfly', version: '1' } },
    transform: ({ schema, url, route }) => ({ schema: described(schema as Schema, route.config?.docs ?? {}), url }),
  });
  // A scope has the logger type of Fastify's interface; it is the one that the app was made with.
  app.register(async (scope) => add(scope.withTypeProvider<TypeBoxTypeProvider>() as unknown as App));
  app.get('/openapi.json', { schema: { hide: true } }, async () => app.swagger());
}

function described(schema: Schema, { headers, consumes, produces, answerHeaders }: RouteDocs): Schema {
  const answers: Answers = {};
  const ofAnyBody = schema.body ? errorAnswers(BODY_ERRORS) : {};
  for (const [status, answer] of [...Object.entries(ofAnyBody), ...Object.entries(schema.response ?? {})]) {
    const fields = answer as Record<string, unknown>; // a schema is an object
    answers[status] = { ...fields, description: fields.description ?? STATUS_CODES[status] };
  }
  for (const status of ['200', '206'].filter((one) => one in answers)) {
    if (produces) answers[status] = { ...answers[status], content: { [produces]: { schema: BYTES } } };
    if (answerHeaders) answers[status] = { ...answers[status], headers: answerHeaders };
  }
  return {
    ...schema,
    ...(headers ? { headers: withoutConditions(headers) } : {}),
    ...(consumes ? { body: BYTES, consumes: [consumes] } : {}),
    response: answers,
  };
}

const BYTES = { type: 'string', format: 'binary' };

/** Parameters stand one by one in OpenAPI: that some are required together is said in their descriptions. */
function withoutConditions(headers: TSchema): unknown {
  return Object.fromEntries(Object.entries(headers).filter(([keyword]) => keyword !== 'if' && keyword !== 'then'));
}
