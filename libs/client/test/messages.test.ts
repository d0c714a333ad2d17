import { beforeAll, describe, expect, test } from 'vitest';
import { utf8 } from '../src/bytes.ts';
import { openMessage, sealMessage } from '../src/message.ts';
import { openMetadata, sealMetadata } from '../src/metadata.ts';
import { derivePasswordKey, PASSWORD_COST } from '../src/password.ts';

let key: CryptoKey;
beforeAll(async () => {
  key = await crypto.subtle.generateKey({ name: 'AES-GCM', length: 256 }, false, ['encrypt', 'decrypt']);
});

describe('a message', () => {
  test('of any length comes back, and is longer by no more than the contract allows', async () => {
    for (const length of [0, 1, 126, 127, 128, 129, 255, 256, 5000]) {
      const text = 'é'.repeat(length);
      const sealed = await sealMessage(key, 'purpose', text);
      expect(sealed.ciphertext.length - utf8(text).length).toBeLessThanOrEqual(144);
      expect(sealed.ciphertext.length % 128).toBe(16);
      expect(await openMessage(key, 'purpose', sealed)).toBe(text);
    }
  });

  test('keeps a byte order mark and trailing zeros', async () => {
    const text = '\uFEFFtext\0\0';
    expect(await openMessage(key, 'p', await sealMessage(key, 'p', text))).toBe(text);
  });

  test('that was changed in any byte, cut or continued fails', async () => {
    const { ciphertext, nonce } = await sealMessage(key, 'purpose', 'a secret');
    const changed = [ciphertext.slice(1), ciphertext.slice(0, -1), ciphertext.slice(0, 15), ciphertext.slice(0, 0)];
    for (let at = 0; at < ciphertext.length; at += 1) {
      changed.push(ciphertext.map((byte, index) => (index === at ? byte ^ 1 : byte)));
    }
    changed.push(new Uint8Array([...ciphertext, 0]));
    for (const bytes of changed) {
      await expect(openMessage(key, 'purpose', { ciphertext: bytes, nonce })).rejects.toMatchObject({
        code: 'tampered',
      });
    }
    for (const other of [nonce.map((byte) => byte ^ 1), nonce.slice(1), nonce.slice(0, 0)]) {
      await expect(openMessage(key, 'purpose', { ciphertext, nonce: other })).rejects.toMatchObject({
        code: 'tampered',
      });
    }
  });

  test('cannot stand in for one with another purpose', async () => {
    const sealed = await sealMessage(key, 'mayfly v1 note text', 'x');
    await expect(openMessage(key, 'mayfly v1 note markdown', sealed)).rejects.toMatchObject({ code: 'tampered' });
  });
});

describe('metadata', () => {
  const file = { name: 'a', type: '', size: 1 };
  const LONG = 'x'.repeat(65_536);

  test('comes back, that of an archive with its size or, from older senders, without', async () => {
    for (const size of [undefined, 2 * (30 + 1 + 1 + 16 + 46 + 1) + 22]) {
      const text = JSON.stringify({ files: [file, file], archive: 'zip', size });
      const sealed = await sealMessage(key, 'mayfly v1 metadata', text);
      expect((await openMetadata(key, sealed)).size).toBe(size);
    }
    const metadata = { files: [file, { ...file, name: 'b' }], archive: 'zip' } as const;
    expect(await openMetadata(key, await sealMetadata(key, { ...metadata, files: [...metadata.files] }))).toEqual(
      metadata,
    );
  });

  test.each([
    ['no JSON', 'x'],
    ['null', 'null'],
    ['no files', '{"files":[]}'],
    ['a file without a name', '{"files":[{"type":"","size":1}]}'],
    ['a negative size', '{"files":[{"name":"a","type":"","size":-1}]}'],
    ['several files without an archive', JSON.stringify({ files: [file, file] })],
    ['an unknown archive', JSON.stringify({ files: [file, file], archive: 'rar' })],
    ['an archive of no size', JSON.stringify({ files: [file, file], archive: 'zip', size: 'large' })],
    ['a name that no zip can hold', JSON.stringify({ files: [file, { ...file, name: LONG }], archive: 'zip' })],
  ])('from a broken client fails: %s', async (_, text) => {
    const sealed = await sealMessage(key, 'mayfly v1 metadata', text);
    await expect(openMetadata(key, sealed)).rejects.toMatchObject({ code: 'tampered' });
  });
});

test('the costs of a password are the ones of the format', () => {
  expect(PASSWORD_COST).toEqual({ argon2id: { memoryKiB: 65_536, passes: 3 }, pbkdf2: { iterations: 600_000 } });
});

test('an empty password is refused', async () => {
  for (const algo of ['argon2id', 'pbkdf2'] as const) {
    const deriving = derivePasswordKey('', algo, new Uint8Array(16));
    await expect(deriving).rejects.toMatchObject({ code: 'invalid-request' });
  }
});
