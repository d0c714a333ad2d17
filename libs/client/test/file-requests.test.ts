import * as portable from '@panva/hpke-noble';
import { AEAD_ChaCha20Poly1305, CipherSuite, KDF_HKDF_SHA256, KEM_MLKEM768_X25519 } from 'hpke';
import { describe, expect, test } from 'vitest';
import { toBase64 } from '../src/bytes.ts';
import { openGreeting, sealGreeting } from '../src/greeting.ts';
import { nativeSuite, portableSuite } from '../src/hpke.ts';
import { formatLink, parseAddress, parseLink } from '../src/link.ts';
import { deriveRequestKeys, hashKey, openSecret, sealSecret } from '../src/request-keys.ts';
import { formatRequestLink, parseRequestLink } from '../src/request-link.ts';
import { fromHex } from './bytes.ts';
import draft from './hpke-pq-draft.json' with { type: 'json' };
import * as reference from './reference.ts';
import * as second from './request-reference.ts';
import vectors from './vectors.ts';

const known = vectors.fileRequests;
const { requestId } = known;
const seed = fromHex(known.seed);
const buffer = (hex: string) => Buffer.from(hex, 'hex');
const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');
const PURPOSE = 'mayfly v1 request greeting';

const stored = ({ ciphertext, nonce }: { ciphertext: string; nonce: string }) => ({
  greeting: toBase64(fromHex(ciphertext)),
  nonce: toBase64(fromHex(nonce)),
});

describe('another HPKE library agrees with the known answers', () => {
  test('keys, tokens and links', async () => {
    expect(hex(second.privateKey(buffer(known.seed)))).toBe(known.privateKey);
    expect(hex(await second.publicKey(buffer(known.privateKey)))).toBe(known.publicKey);
    expect(hex(second.keyHash(buffer(known.publicKey)))).toBe(known.keyHash);
    expect(second.ownerToken(buffer(known.seed))).toBe(known.ownerToken);
    expect(hex(second.greetingKey(buffer(known.keyHash)))).toBe(known.greetingKey);
    const address = `https://mayfly.example/r/${requestId}`;
    expect(known.dropLinkText).toBe(`${address}#${buffer(known.keyHash).toString('base64url')}`);
    expect(known.keepLinkText).toBe(`${address}#k${buffer(known.seed).toString('base64url')}`);
  });

  test.each(known.greetings)('a greeting: $name', ({ nonce, text, ciphertext }) => {
    expect(hex(reference.message(buffer(known.greetingKey), buffer(nonce), PURPOSE, text))).toBe(ciphertext);
  });

  test.each(known.drops)('a drop of protection $protectionByte', async (drop) => {
    const { uploadId, secret, protectionByte, ekm, enc, sealed } = drop;
    const place = { requestId, uploadId };
    const plaintext = Buffer.concat([buffer(secret), Buffer.of(protectionByte)]);
    const ours = await second.seal(buffer(known.publicKey), place, plaintext, buffer(ekm));
    expect({ enc: hex(ours.enc), sealed: hex(ours.sealed) }).toEqual({ enc, sealed });
    const opened = await second.open(buffer(known.privateKey), place, buffer(enc), buffer(sealed));
    expect(opened).toEqual({ secret: buffer(secret), protectionByte });
  });

  test.each(known.dropsRefused)('it refuses $name', async ({ uploadId, enc, sealed, code }) => {
    const opened = second.open(buffer(known.privateKey), { requestId, uploadId }, buffer(enc), buffer(sealed));
    await expect(opened).rejects.toThrow(code);
  });
});

const SUITES = [
  ['of Node', nativeSuite],
  ['in JavaScript', portableSuite],
] as const;

describe.each(SUITES)('the library with a key encapsulation %s', (_, open) => {
  test('derives the known keys from the seed', async () => {
    const keys = await deriveRequestKeys(await open(), seed);
    expect(hex(keys.publicKey)).toBe(known.publicKey);
    expect(hex(keys.keyHash)).toBe(known.keyHash);
    expect(keys.ownerToken).toBe(known.ownerToken);
  });

  test.each(known.drops)('opens a drop of protection $protectionByte', async (drop) => {
    const suite = await open();
    const place = { requestId, uploadId: drop.uploadId };
    const sealed = { enc: fromHex(drop.enc), sealed: fromHex(drop.sealed) };
    const opened = await openSecret(suite, await deriveRequestKeys(suite, seed), place, sealed);
    expect(hex(opened.secret)).toBe(drop.secret);
    const address = { kind: 'upload', baseUrl: 'https://mayfly.example', id: drop.uploadId } as const;
    expect(await formatLink({ ...address, ...opened })).toBe(drop.linkText);
  });

  test.each(known.dropsRefused)('refuses $name', async ({ uploadId, enc, sealed, code }) => {
    const suite = await open();
    const box = { enc: fromHex(enc), sealed: fromHex(sealed) };
    const opened = openSecret(suite, await deriveRequestKeys(suite, seed), { requestId, uploadId }, box);
    await expect(opened).rejects.toMatchObject({ code });
  });

  test('seals what every library opens', async () => {
    const { uploadId, linkText } = known.drops[0] ?? { uploadId: '', linkText: '' };
    const { secret, protection } = await parseLink(linkText);
    if (!protection) throw new Error('it is a new link');
    const place = { requestId, uploadId };
    const { enc, sealed } = await sealSecret(await open(), fromHex(known.publicKey), place, { secret, protection });
    const there = await second.open(buffer(known.privateKey), place, Buffer.from(enc), Buffer.from(sealed));
    expect(there).toEqual({ secret: Buffer.from(secret), protectionByte: 0x80 });
    for (const [, other] of SUITES) {
      const suite = await other();
      const opened = await openSecret(suite, await deriveRequestKeys(suite, seed), place, { enc, sealed });
      expect(opened).toEqual({ secret, protection });
    }
    const elsewhere = { requestId, uploadId: requestId };
    await expect(
      second.open(buffer(known.privateKey), elsewhere, Buffer.from(enc), Buffer.from(sealed)),
    ).rejects.toThrow('tampered');
  });

  test('does not seal to what is no public key', async () => {
    const place = { requestId, uploadId: requestId };
    const secret = { secret: seed, protection: { passwordAlgo: undefined, isSealed: false } };
    for (const key of [new Uint8Array(0), new Uint8Array(1215), new Uint8Array(1217)]) {
      await expect(sealSecret(await open(), key, place, secret)).rejects.toMatchObject({ code: 'bad-answer' });
    }
  });
});

describe.each([
  ['of Node', KEM_MLKEM768_X25519],
  ['in JavaScript', portable.KEM_MLKEM768_X25519],
])('the known answers of draft-ietf-hpke-pq, with a key encapsulation %s', (_, kem) => {
  test('open', async () => {
    const suite = new CipherSuite(kem, KDF_HKDF_SHA256, AEAD_ChaCha20Poly1305);
    expect([suite.KEM.id, suite.KDF.id, suite.AEAD.id]).toEqual([draft.kem_id, draft.kdf_id, draft.aead_id]);
    const { privateKey, publicKey } = await suite.DeriveKeyPair(fromHex(draft.ikmR), true);
    expect(hex(await suite.SerializePrivateKey(privateKey))).toBe(draft.skRm);
    expect(hex(await suite.SerializePublicKey(publicKey))).toBe(draft.pkRm);
    const context = await suite.SetupRecipient(privateKey, fromHex(draft.enc), { info: fromHex(draft.info) });
    for (const { aad, ct, pt } of draft.encryptions) {
      expect(hex(await context.Open(fromHex(ct), fromHex(aad)))).toBe(pt);
    }
  });
});

describe('what a request says', () => {
  test.each(known.greetings)('opens: $name', async ({ text, ...message }) => {
    const { title, text: more } = JSON.parse(text);
    const greeting = await openGreeting(fromHex(known.keyHash), stored(message));
    expect(greeting).toEqual({ title, ...(more && { text: more }) });
  });

  test.each(known.greetingsRefused)('is refused: $name', async ({ code, ...message }) => {
    await expect(openGreeting(fromHex(known.keyHash), stored(message))).rejects.toMatchObject({ code });
  });

  test('is nothing where there is none, and refused where half of it is missing', async () => {
    const hash = fromHex(known.keyHash);
    expect(await openGreeting(hash, { greeting: null, nonce: null })).toEqual({});
    const { greeting, nonce } = await sealGreeting(hash, { title: 'a' });
    await expect(openGreeting(hash, { greeting, nonce: null })).rejects.toMatchObject({ code: 'tampered' });
    await expect(openGreeting(hash, { greeting: null, nonce })).rejects.toMatchObject({ code: 'tampered' });
    await expect(openGreeting(await hashKey(hash), { greeting, nonce })).rejects.toMatchObject({ code: 'tampered' });
  });

  test('has room for 3,967 bytes with its field names, and no more', async () => {
    const [hash, spent] = [fromHex(known.keyHash), '{"title":""}'.length];
    const { greeting } = await sealGreeting(hash, { title: 'a'.repeat(3967 - spent) });
    expect(Buffer.from(greeting, 'base64').length).toBe(3984);
    const long = sealGreeting(hash, { title: 'a'.repeat(3968 - spent) });
    await expect(long).rejects.toMatchObject({ code: 'too-large' });
  });
});

describe('links of file requests', () => {
  const address = { baseUrl: 'https://mayfly.example', id: requestId };

  test('one is given away and one is kept', () => {
    const [drop, keep] = [parseRequestLink(known.dropLinkText), parseRequestLink(known.keepLinkText)];
    expect(drop).toEqual({ ...address, role: 'drop', keyHash: fromHex(known.keyHash) });
    expect(keep).toEqual({ ...address, role: 'keep', seed });
    expect([formatRequestLink(drop), formatRequestLink(keep)]).toEqual([known.dropLinkText, known.keepLinkText]);
  });

  test('they are read as other links are', () => {
    for (const text of [known.dropLinkText, known.keepLinkText]) {
      const [before, fragment = ''] = text.split('#');
      const encoded = [...fragment].map((one) => `%${one.charCodeAt(0).toString(16)}`).join('');
      const same = [
        ` <${text}>\n`,
        `${before?.replace('/r/', '/R/').toUpperCase()}#${fragment}`,
        `${before}/?a=b#${encoded}`,
      ];
      for (const other of same) expect(parseRequestLink(other)).toEqual(parseRequestLink(text));
    }
  });

  test.each(known.linksRefused)('one is refused: $why', ({ text, code }) => {
    expect(() => parseRequestLink(text)).toThrow(expect.objectContaining({ code }));
  });

  test('they lead to no file and no note', async () => {
    const refusal = { code: 'invalid-link' };
    await expect(parseLink(known.dropLinkText)).rejects.toMatchObject(refusal);
    expect(() => parseAddress(known.keepLinkText)).toThrow(expect.objectContaining(refusal));
  });
});
