import { ID_PATTERN } from '@mayfly/vocabulary';
import { stdSerializers } from 'pino';

const UUID = new RegExp(ID_PATTERN, 'gi');
const QUERY = /\?[^\s'"<>)]*=[^\s'"<>)]*/g;
/** PostgreSQL prints whole rows there. */
const LEFT_OUT = new Set(['detail', 'where', 'internalQuery', 'query', 'parameters']);
const DEEPEST = 6;

/** Text without what may be the id of an item, and without queries, which hold signatures. */
export const masked = (text: string): string => text.replaceAll(UUID, '<id>').replaceAll(QUERY, '?<query>');

/**
 * An error as it may be logged: with its causes, and without ids. The errors of file systems and of S3 carry the names of
 * blobs, in their messages and in fields of their own.
 */
export function errorForLog(error: unknown): unknown {
  return withoutIds(error instanceof Error ? stdSerializers.err(error) : error, DEEPEST);
}

function withoutIds(value: unknown, depth: number): unknown {
  if (typeof value === 'string') return masked(value);
  if (typeof value === 'function') return undefined;
  if (typeof value !== 'object' || value === null) return value;
  if (depth === 0 || ArrayBuffer.isView(value)) return '<left out>';
  if (value instanceof Date) return value;
  if (value instanceof Error) return withoutIds(stdSerializers.err(value), depth);
  if (Array.isArray(value)) return value.map((one) => withoutIds(one, depth - 1));
  const fields = Object.entries(value).filter(([name]) => !LEFT_OUT.has(name));
  return Object.fromEntries(fields.map(([name, one]) => [masked(name), withoutIds(one, depth - 1)]));
}
