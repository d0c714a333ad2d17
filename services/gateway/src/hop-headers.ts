import type { IncomingHttpHeaders } from 'node:http';

/** Headers of one connection, not of the message (RFC 9110, section 7.6.1), and the one that services tell the gateway. */
const HOP_BY_HOP = new Set([
  'connection',
  'expect',
  'host',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'x-mayfly-give-back',
]);

/** A sender must not declare these away: the gateway set them, or the message's bounds hang on them. */
const STAY = new Set(['x-request-id', 'x-mayfly-base-url', 'content-length', 'host', 'transfer-encoding']);

/** The names in `Connection`: headers meant for this connection alone. */
export function namedInConnection({ connection = '' }: IncomingHttpHeaders): string[] {
  return String(connection)
    .split(',')
    .map((name) => name.trim().toLowerCase())
    .filter((name) => !STAY.has(name));
}

/** What the next connection gets. */
export function endToEnd(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  const named = headers.connection === undefined ? [] : namedInConnection(headers);
  const kept: IncomingHttpHeaders = {};
  for (const name in headers) if (!HOP_BY_HOP.has(name) && !named.includes(name)) kept[name] = headers[name];
  return kept;
}
