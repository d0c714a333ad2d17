import fc from 'fast-check';
import type { FastifyRequest } from 'fastify';
import { pino } from 'pino';
import type { TSchema } from 'typebox';
import { beforeAll, describe, expect, test } from 'vitest';
import { createApp } from '../src/app.ts';
import { Base64, base64Bytes, canonicalBase64url, NoteNonce, parseId, Salt, Token } from '../src/fields.ts';
import { hashToken, tokenMatches } from '../src/tokens.ts';

let request: FastifyRequest;

/** Whether a request with this value would pass: the validator is the service's own. */
const accepts = (schema: TSchema) => (text: string) => request.compileValidationSchema(schema, 'body')(text);

beforeAll(async () => {
  const app = createApp({ logger: pino({ level: 'silent' }) });
  app.get('/', async (seen) => {
    request = seen;
  });
  await app.inject('/');
});

const bytes = (minLength: number, maxLength: number) =>
  fc.uint8Array({ minLength, maxLength }).map((array) => Buffer.from(array));

describe('base64', () => {
  const isBase64 = accepts(Base64('x'));

  test('the base64 of any bytes is accepted, and its decoded length is told without decoding', () => {
    fc.assert(
      fc.property(bytes(1, 300), (value) => {
        const text = value.toString('base64');
        expect(isBase64(text)).toBe(true);
        expect(base64Bytes(text)).toBe(value.length);
      }),
    );
  });

  test('whatever is accepted decodes to itself', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(...'AZaz09+/-_= \n') }), (text) => {
        if (!isBase64(text)) return;
        expect(Buffer.from(text, 'base64').length).toBe(base64Bytes(text));
        expect(text).toMatch(/^[A-Za-z0-9+/]+={0,2}$/);
      }),
    );
  });

  test('characters of base64url, missing padding, blanks and line ends are refused', () => {
    for (const text of ['', '_-_-', 'YQ', 'YQ=', 'Y', 'YQ== ', ' YQ==', 'YQ==\n', 'Y=Q=', '====', 'YQ==YQ==']) {
      expect(isBase64(text), JSON.stringify(text)).toBe(false);
    }
  });

  test('what is accepted is what the pattern in the API reference says', () => {
    const pattern = new RegExp(String((Base64('x') as { pattern?: string }).pattern));
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(...'AZaz09+/==-_ \n'), maxLength: 12 }), (text) => {
        expect(isBase64(text)).toBe(text !== '' && pattern.test(text));
      }),
      { numRuns: 2_000 },
    );
  });

  test('24 megabytes are checked without trouble', () => {
    const text = 'A'.repeat(24_000_000);
    expect(isBase64(text)).toBe(true);
    expect(isBase64(`${text.slice(4)}AA==`)).toBe(true);
    for (const wrong of [`${text}!`, `${text.slice(1)}!`, `!${text.slice(1)}`, `${text.slice(3)}===`]) {
      expect(isBase64(wrong)).toBe(false);
    }
  });
});

describe('base64url', () => {
  const isSalt = accepts(Salt('x'));
  const isToken = accepts(Token('x'));

  test('a salt is 16 bytes, no more and no less, padded or not', () => {
    fc.assert(
      fc.property(bytes(0, 40), (value) => {
        const text = value.toString('base64url');
        expect(isSalt(text)).toBe(value.length === 16);
        expect(isSalt(`${text}==`)).toBe(value.length === 16);
      }),
    );
  });

  test('every spelling of a salt has the one canonical form', () => {
    fc.assert(
      fc.property(bytes(16, 16), (value) => {
        const text = value.toString('base64url');
        expect(canonicalBase64url(`${text}==`)).toBe(text);
        expect(canonicalBase64url(text)).toBe(text);
      }),
    );
  });

  test('a token is any base64url text up to 512 characters', () => {
    fc.assert(
      fc.property(bytes(1, 384), (value) => {
        expect(isToken(value.toString('base64url'))).toBe(true);
      }),
    );
    for (const text of ['', 'ab+/', 'a b', 'ab\n', '====', 'a=b', 'ab===', 'a'.repeat(513)]) {
      expect(isToken(text), JSON.stringify(text)).toBe(false);
    }
  });
});

test('a note nonce is 12 bytes as base64', () => {
  const isNonce = accepts(NoteNonce);
  fc.assert(
    fc.property(bytes(0, 30), (value) => {
      expect(isNonce(value.toString('base64'))).toBe(value.length === 12);
    }),
  );
});

describe('ids', () => {
  test('a UUID is found in its lower-case form', () => {
    fc.assert(
      fc.property(fc.uuid(), (id) => {
        expect(parseId(id.toUpperCase())).toBe(id.toLowerCase());
      }),
    );
  });

  test('nothing else is an id: what passes has only hexadecimal digits and hyphens', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.string({ minLength: 36, maxLength: 36 }),
          fc.uuid().map((id) => `${id}\n`),
        ),
        (text) => {
          const id = parseId(text);
          if (id !== undefined) expect(id).toMatch(/^[0-9a-f-]{36}$/);
        },
      ),
    );
  });
});

describe('tokens', () => {
  test('a token matches its own hash, padded or not, and no other', () => {
    fc.assert(
      fc.property(bytes(32, 32), bytes(32, 32), (one, other) => {
        const token = one.toString('base64url');
        const stored = hashToken(token);
        expect(tokenMatches(token, stored)).toBe(true);
        expect(tokenMatches(`${token}=`, stored)).toBe(true);
        expect(tokenMatches(other.toString('base64url'), stored)).toBe(one.equals(other));
      }),
    );
  });

  test('a token that is missing or repeated matches nothing', () => {
    const stored = hashToken('YQ');
    expect(tokenMatches(undefined, stored)).toBe(false);
    expect(tokenMatches(['YQ', 'YQ'], stored)).toBe(false);
    expect(tokenMatches('', stored)).toBe(false);
  });
});
