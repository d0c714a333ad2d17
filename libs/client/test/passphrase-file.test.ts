import { createDecipheriv, hkdfSync } from 'node:crypto';
import { argon2id } from 'hash-wasm';
import { expect, test } from 'vitest';
import { openFile, sealFile } from '../src/index.ts';

const unsafePasswordCost = { argon2id: { memoryKiB: 64, passes: 1 }, pbkdf2: { iterations: 1 } };
const content = 'mayfly sent list';
const passphrase = 'four random words do';
const options = { content, passphrase, unsafePasswordCost };

test('a sealed file opens with its passphrase, however the characters were typed', async () => {
  const json = await sealFile('{"items":[]} ÄÖ', { ...options, passphrase: 'Gr\u00fc\u00dfe' });
  expect(await openFile(json, { ...options, passphrase: 'Gru\u0308\u00dfe' })).toBe('{"items":[]} ÄÖ');
  expect(json).not.toContain('items');
});

test('two files of the same text have nothing in common but their kind', async () => {
  const [one, other] = [await sealFile('x', options), await sealFile('x', options)].map((json) => JSON.parse(json));
  for (const field of ['salt', 'nonce', 'ciphertext']) expect(one[field]).not.toBe(other[field]);
});

test('a wrong passphrase and a changed file are refused with the same code', async () => {
  const json = await sealFile('text', options);
  await expect(openFile(json, { ...options, passphrase: 'another' })).rejects.toMatchObject({ code: 'wrong-password' });
  const changed = JSON.parse(json);
  changed.ciphertext = changed.ciphertext.replace(/^./, (first: string) => (first === 'A' ? 'B' : 'A'));
  await expect(openFile(JSON.stringify(changed), options)).rejects.toMatchObject({ code: 'wrong-password' });
});

test.each([
  ['no JSON', 'hello'],
  ['null', 'null'],
  ['another format', '{"format":"x"}'],
])('%s is not a file that can be read', async (_, json) => {
  await expect(openFile(json, options)).rejects.toMatchObject({ code: 'bad-source' });
});

test('another version, content or a broken salt is refused before any key is derived', async () => {
  const file = JSON.parse(await sealFile('text', options));
  for (const change of [{ version: 2 }, { content: 'other' }, { salt: 'AAAA' }, { nonce: 'AAAA' }, { ciphertext: 5 }]) {
    const json = JSON.stringify({ ...file, ...change });
    await expect(openFile(json, options)).rejects.toMatchObject({ code: 'bad-source' });
  }
});

test('an implementation on node:crypto, written from the document, opens the file', async () => {
  const text = 'the list';
  const file = JSON.parse(await sealFile(text, { content, passphrase }));
  const salt = Buffer.from(file.salt, 'base64url');
  const cost = { memorySize: 65_536, iterations: 3, parallelism: 1, hashLength: 32 };
  const passwordKey = await argon2id({ password: passphrase, salt, ...cost, outputType: 'binary' });
  const key = Buffer.from(hkdfSync('sha256', passwordKey, salt, 'mayfly v1 passphrase file key', 32));
  const sealed = Buffer.from(file.ciphertext, 'base64');
  const decipher = createDecipheriv('aes-256-gcm', key, Buffer.from(file.nonce, 'base64'));
  decipher.setAAD(Buffer.from(file.content)).setAuthTag(sealed.subarray(-16));
  const padded = Buffer.concat([decipher.update(sealed.subarray(0, -16)), decipher.final()]);
  expect(padded.length % 128).toBe(0);
  expect(padded.subarray(0, padded.lastIndexOf(0x80)).toString()).toBe(text);
});
