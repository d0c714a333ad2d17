import { setTimeout as sleep } from 'node:timers/promises';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';

/** One answer as a client saw it. */
export type SeenAnswer = { method: string; url: string; status: number; contentType: string; body: unknown };

type Operation = { responses: Record<string, { content?: Record<string, { schema: object }> }> };
type Document = { paths: Record<string, Record<string, Operation>> };

const seen: SeenAnswer[] = [];

/** Every answer that a test gets through `call` is kept, to be held against the API reference. */
export function remember(answer: SeenAnswer) {
  seen.push(answer);
}

/** What the reference does not say about the answers that a service has given. */
export async function undocumented(baseUrls: string[]): Promise<{ checked: number; problems: string[] }> {
  const document = await readReference(`${baseUrls[0]}/api/openapi.json`);
  const ajv = addFormats.default(new Ajv2020({ strict: false, validateFormats: true }));
  const validators = new Map<object, ValidateFunction>();
  const problems = new Set<string>();
  let checked = 0;
  for (const { method, url, status, contentType, body } of seen) {
    const base = baseUrls.find((address) => url.startsWith(`${address}/`));
    const operation = base && operationOf(document, method, url.slice(base.length));
    if (!operation) continue; // another service, or not an endpoint
    checked += 1;
    const name = `${method} ${operation.path} ${status}`;
    const answer = operation.responses[status];
    const content = answer?.content?.[contentType.split(';')[0] ?? ''];
    if (!answer) problems.add(`${name}: the status is not described`);
    else if (!content) problems.add(`${name}: ${contentType} is not described`);
    else if (contentType.startsWith('application/json')) {
      const validate = validators.get(content.schema) ?? ajv.compile(content.schema);
      validators.set(content.schema, validate);
      if (!validate(body)) problems.add(`${name}: ${ajv.errorsText(validate.errors)}`);
    }
  }
  return { checked, problems: [...problems] };
}

/** Waits for a limit that the suite may have used up. */
async function readReference(url: string): Promise<Document> {
  for (let tries = 0; tries < 20; tries++) {
    const answer = await fetch(url);
    if (answer.ok) return (await answer.json()) as Document;
    await sleep(Math.min(Number(answer.headers.get('retry-after') ?? 1), 5) * 1_000);
  }
  throw new Error('the API reference cannot be read');
}

function operationOf({ paths }: Document, method: string, url: string): (Operation & { path: string }) | undefined {
  const parts = (url.split('?')[0] ?? '').split('/');
  for (const [path, operations] of Object.entries(paths)) {
    const pattern = path.split('/');
    const isMatch =
      pattern.length === parts.length && pattern.every((part, i) => part.startsWith('{') || part === parts[i]);
    const operation = operations[method.toLowerCase()];
    if (isMatch && operation) return { ...operation, path };
  }
  return undefined;
}
