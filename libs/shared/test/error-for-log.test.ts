import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { pino } from 'pino';
import { expect, test } from 'vitest';
import { createApp } from '../src/app.ts';
import { errorForLog } from '../src/error-for-log.ts';
import { LOG_OPTIONS } from '../src/logger.ts';

const id = randomUUID();

/** All that a logger with the service's options writes. */
function record() {
  const lines: string[] = [];
  const logger = pino({ ...LOG_OPTIONS, level: 'trace' }, { write: (line: string) => lines.push(line) });
  return { logger, text: () => lines.join('') };
}

const failure = () => readFile(`/nowhere/${id}.bin`).catch((error: Error) => error);

test('a file system’s error is logged without the id that its message and its path hold', async () => {
  const { logger, text } = record();
  logger.error({ err: await failure() }, 'failed');
  logger.error(await failure());
  expect(text()).toContain('ENOENT');
  expect(text()).toContain('<id>.bin');
  expect(text()).not.toContain(id);
});

test('causes, errors of many, own fields and stacks are masked as deep as they go', async () => {
  const { logger, text } = record();
  const inner = Object.assign(new Error(`no ${id.toUpperCase()}`), {
    key: `${id}.bin`,
    list: [{ resource: `/b/${id}.bin` }],
  });
  const many = new AggregateError([inner, await failure()], `two for ${id}`);
  logger.warn({
    err: new Error('outer', { cause: new Error(`http://s3/b/${id}.bin?X-Amz-Signature=abc`, { cause: many }) }),
  });
  logger.warn({ err: { message: id, response: { url: `http://s3/${id}?X-Amz-Signature=abc` } } });
  logger.warn({ err: `plain ${id}` });
  logger.child({ reqId: 'r' }, { serializers: {} }).error({ err: inner });
  expect(text().toLowerCase()).not.toContain(id);
  expect(text()).not.toContain('X-Amz-Signature');
  expect(text()).toContain('two for <id>');
});

test('a row that PostgreSQL prints is left out', () => {
  const error = Object.assign(new Error('violates'), { detail: 'Failing row contains (secret)', code: '23514' });
  const logged = JSON.stringify(errorForLog(error));
  expect(logged).toContain('23514');
  expect(logged).not.toContain('secret');
});

test('an error that refers to itself ends', () => {
  const error = Object.assign(new Error('loop'), { self: {} as object });
  error.self = { error };
  expect(JSON.stringify(errorForLog(error))).toContain('loop');
});

test('what the framework logs of a request goes the same way', async () => {
  const { logger, text } = record();
  const app = createApp({ logger });
  app.get('/', async () => {
    throw await failure();
  });
  expect((await app.inject('/')).statusCode).toBe(500);
  expect(text()).toContain('ENOENT');
  expect(text()).not.toContain(id);
});
