import { describe, expect, test } from 'vitest';
import { fromBase64url } from '../src/bytes.ts';
import { deriveKeys, deriveOwnerToken } from '../src/keys.ts';
import { formatLink, parseLink } from '../src/link.ts';
import { openMessage, sealMessage } from '../src/message.ts';
import { derivePasswordKey, xorSecret } from '../src/password.ts';
import { decryptSegments, encryptSegments } from '../src/segments.ts';
import { encryptedSize, plaintextSize } from '../src/size.ts';
import { collect, fromHex, inPieces, sha256 } from './bytes.ts';
import * as reference from './reference.ts';
import vectors from './vectors.json' with { type: 'json' };

const [secret, salt] = [fromHex(vectors.keys.secret), fromHex(vectors.keys.salt)];
const buffer = (hex: string) => Buffer.from(hex, 'hex');
const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');

describe('an independent implementation agrees with the known answers', () => {
  test('keys and tokens', () => {
    const { fileKey, metadataKey, noteKey, authKey, authToken } = reference.keys(
      buffer(vectors.keys.secret),
      buffer(vectors.keys.salt),
    );
    expect({ fileKey, metadataKey, noteKey, authKey }).toEqual({
      fileKey: buffer(vectors.keys.fileKey),
      metadataKey: buffer(vectors.keys.metadataKey),
      noteKey: buffer(vectors.keys.noteKey),
      authKey: buffer(vectors.keys.authKey),
    });
    expect(authToken).toBe(vectors.keys.authToken);
    expect(reference.ownerToken(buffer(vectors.owner.ownerSecret))).toBe(vectors.owner.ownerToken);
  });

  test('passwords', () => {
    const { passwordText, passwordSalt, argon2id, pbkdf2 } = vectors.password;
    const argon2idKey = reference.argon2idKey(passwordText, buffer(passwordSalt));
    const pbkdf2Key = reference.pbkdf2Key(passwordText, buffer(passwordSalt));
    expect([hex(argon2idKey), hex(pbkdf2Key)]).toEqual([argon2id.passwordKey, pbkdf2.passwordKey]);
    expect(hex(reference.xor(buffer(vectors.keys.secret), argon2idKey))).toBe(argon2id.protectedSecret);
    expect(hex(reference.xor(buffer(vectors.keys.secret), pbkdf2Key))).toBe(pbkdf2.protectedSecret);
  });

  test('messages', () => {
    const { nonce, text, ciphertext } = vectors.metadata;
    const sealed = reference.message(buffer(vectors.keys.metadataKey), buffer(nonce), 'mayfly v1 metadata', text);
    expect(hex(sealed)).toBe(ciphertext);
    for (const note of vectors.notes) {
      const purpose = `mayfly v1 note ${note.contentType}`;
      const ours = reference.message(buffer(vectors.keys.noteKey), buffer(note.nonce), purpose, note.text);
      expect(hex(ours)).toBe(note.ciphertext);
    }
  });

  test.each(vectors.payloads)('a payload of $size bytes', ({ noncePrefix, size, sha256: expected }) => {
    const ours = reference.payload(buffer(vectors.keys.fileKey), buffer(noncePrefix), reference.patterned(size));
    expect(sha256(ours)).toBe(expected);
  });
});

describe('the library agrees with the known answers', () => {
  test('auth token and owner token', async () => {
    expect((await deriveKeys(secret, salt)).authToken).toBe(vectors.keys.authToken);
    expect(await deriveOwnerToken(fromHex(vectors.owner.ownerSecret))).toBe(vectors.owner.ownerToken);
    expect(vectors.keys.authToken).toHaveLength(43);
  });

  test.each(['argon2id', 'pbkdf2'] as const)('password by %s, in either Unicode form', async (algo) => {
    const { passwordText, passwordSalt } = vectors.password;
    for (const form of ['NFC', 'NFD']) {
      const key = await derivePasswordKey(passwordText.normalize(form), algo, fromHex(passwordSalt));
      expect(hex(key)).toBe(vectors.password[algo].passwordKey);
      expect(hex(xorSecret(secret, key))).toBe(vectors.password[algo].protectedSecret);
    }
  });

  test('links', () => {
    const { uploadText, noteText } = vectors.link;
    expect(parseLink(uploadText)).toMatchObject({ kind: 'upload', baseUrl: 'https://mayfly.example', secret });
    expect(parseLink(noteText)).toMatchObject({ kind: 'note', baseUrl: 'https://mayfly.example', secret });
    expect(formatLink(parseLink(uploadText))).toBe(uploadText);
    expect(formatLink(parseLink(noteText))).toBe(noteText);
    expect(fromBase64url(uploadText.slice(-43), 32)).toEqual(secret);
  });

  test('metadata', async () => {
    const { metadata: key } = await deriveKeys(secret, salt);
    const { nonce, text, ciphertext } = vectors.metadata;
    const sealed = await sealMessage(key, 'mayfly v1 metadata', text, fromHex(nonce));
    expect(hex(sealed.ciphertext)).toBe(ciphertext);
    expect(await openMessage(key, 'mayfly v1 metadata', sealed)).toBe(text);
  });

  test.each(vectors.notes)('a note: $contentType', async ({ contentType, nonce, text, ciphertext }) => {
    const { note: key } = await deriveKeys(secret, salt);
    const purpose = `mayfly v1 note ${contentType}`;
    const sealed = await sealMessage(key, purpose, text, fromHex(nonce));
    expect(hex(sealed.ciphertext)).toBe(ciphertext);
    expect(await openMessage(key, purpose, sealed)).toBe(text);
  });

  test.each(vectors.payloads)(
    'a payload of $size bytes',
    async ({ noncePrefix, size, encryptedSize: bytes, sha256: expected }) => {
      const { file: key } = await deriveKeys(secret, salt);
      const plaintext = reference.patterned(size);
      const ciphertext = await collect(inPieces(plaintext).pipeThrough(encryptSegments(key, fromHex(noncePrefix))));
      expect(sha256(ciphertext)).toBe(expected);
      expect(ciphertext).toHaveLength(bytes);
      expect([encryptedSize(size), plaintextSize(bytes)]).toEqual([bytes, size]);
      expect((await collect(inPieces(ciphertext).pipeThrough(decryptSegments(key)))).equals(plaintext)).toBe(true);
    },
  );
});
