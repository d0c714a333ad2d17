import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { OWN, ROUTES, WORK } from '../src/routes.ts';

type Content = { content?: Record<string, unknown> };
type Operation = { requestBody?: Content; responses: Record<string, Content> };

const { paths } = JSON.parse(readFileSync(new URL('../../../docs/openapi.json', import.meta.url), 'utf8')) as {
  paths: Record<string, Record<string, Operation>>;
};
const own: string[] = [...Object.values(OWN), WORK].map(({ method, url }) => `${method} ${url}`);
const operations = Object.entries(paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({
    name: `${method.toUpperCase()} ${path.replaceAll(/\{(\w+)\}/g, ':$1')}`,
    operation,
  })),
);
const PAYLOAD = 'application/octet-stream';
const holdsPayload = (part: Content | undefined) => part?.content !== undefined && PAYLOAD in part.content;

test.each(operations.filter(({ name }) => !own.includes(name)))(
  'what the gateway says of $name is what its service describes',
  ({ name, operation: { requestBody, responses } }) => {
    const route = ROUTES.find(({ method, url }) => `${method} ${url}` === name);
    const isGuarded = '401' in responses;
    expect({
      isGuarded: route?.isGuarded ?? false,
      payload: route?.payload,
      isRepeatable: route?.isRepeatable ?? false,
    }).toEqual({
      isGuarded,
      payload: holdsPayload(requestBody) ? 'request' : holdsPayload(responses['200']) ? 'answer' : undefined,
      isRepeatable: name.startsWith('GET ') && !isGuarded,
    });
  },
);
