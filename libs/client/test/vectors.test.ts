import { describe, expect, test } from 'vitest';
import { fromBase64url } from '../src/bytes.ts';
import type { NoteContentType } from '../src/index.ts';
import { deriveKeys, deriveNoteKey, deriveOwnerToken, type NoteKey } from '../src/keys.ts';
import { formatLink, parseLink } from '../src/link.ts';
import { openMessage, sealMessage } from '../src/message.ts';
import { openMetadata } from '../src/metadata.ts';
import { readNote, sealNote } from '../src/note-message.ts';
import { openPayload } from '../src/open-payload.ts';
import { openFile } from '../src/passphrase-file.ts';
import { derivePasswordKey, xorSecret } from '../src/password.ts';
import { encryptSegments } from '../src/segments.ts';
import { encryptedSize, plaintextSize } from '../src/size.ts';
import { collect, fromHex, inPieces, sha256 } from './bytes.ts';
import * as reference from './reference.ts';
import vectors from './vectors.ts';

const [secret, salt] = [fromHex(vectors.keys.secret), fromHex(vectors.keys.salt)];
const ID = '0f8fad5b-d9cb-469f-a165-70867728950e';
const buffer = (hex: string) => Buffer.from(hex, 'hex');
const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');

const METADATA = 'mayfly v1 metadata';
const notes = vectors.notesOfFormat2;
const noteKeys = { key: buffer(vectors.keys.noteKeyV2), commitment: buffer(vectors.keys.noteKeyCommitment) };

type Pieces = ({ payload: number; from: number; to: number } | { hex: string })[];

/** Bytes of payloads that are made anew, and bytes of their own. */
function assemble({ pieces, flip }: { pieces: object[]; flip?: { at: number; mask: number } }): Buffer {
  const whole = Buffer.concat(
    (pieces as Pieces).map((piece) => {
      if ('hex' in piece) return buffer(piece.hex);
      const { noncePrefix = '', size = 0 } = vectors.payloads[piece.payload] ?? {};
      const sealed = reference.payload(buffer(vectors.keys.fileKey), buffer(noncePrefix), reference.patterned(size));
      return sealed.subarray(piece.from, piece.to);
    }),
  );
  if (flip) whole.writeUInt8(whole.readUInt8(flip.at) ^ flip.mask, flip.at);
  return whole;
}

function isJson(text: string): boolean {
  try {
    return JSON.parse(text) !== undefined;
  } catch {
    return false;
  }
}

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
    const { normalized } = vectors.password;
    const [salt, text] = [buffer(passwordSalt), normalized.passwordText];
    expect(hex(reference.argon2idKey(text, salt))).toBe(normalized.argon2id);
    expect(hex(reference.pbkdf2Key(text, salt))).toBe(normalized.pbkdf2);
    expect(hex(reference.xor(buffer(vectors.keys.secret), argon2idKey))).toBe(argon2id.protectedSecret);
    expect(hex(reference.xor(buffer(vectors.keys.secret), pbkdf2Key))).toBe(pbkdf2.protectedSecret);
  });

  test('links', () => {
    for (const { text, kind, secret, protectionByte } of vectors.link.opened) {
      const letter = kind === 'note' ? 'n' : 'd';
      const fragment = reference.fragment(letter, ID, buffer(secret), protectionByte);
      expect(text).toBe(`https://mayfly.example/${letter}/${ID}#${fragment}`);
    }
  });

  test('sealed metadata', () => {
    const { share, key, nonce, text, ciphertext } = vectors.sealedMetadata;
    const ours = reference.sealedMetadataKey(buffer(vectors.keys.secret), buffer(share));
    expect(hex(ours)).toBe(key);
    expect(hex(reference.message(ours, buffer(nonce), 'mayfly v2 sealed metadata', text))).toBe(ciphertext);
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

  test.each(vectors.messages.refused)('it refuses $name', ({ kind, contentType, nonce, ciphertext, code }) => {
    const [key, purpose] = kind === 'note' ? ['noteKey', `mayfly v1 note ${contentType}`] : ['metadataKey', METADATA];
    const open = () =>
      reference.openMessage(buffer(vectors.keys[key as 'noteKey']), buffer(nonce), purpose, buffer(ciphertext));
    expect(open).toThrow(code);
  });

  test('metadata that is as it should be, and that is not', () => {
    for (const { name, text } of vectors.metadata.taken)
      expect([name, reference.isMetadata(text)]).toEqual([name, true]);
    for (const { name, text } of vectors.metadata.refused) {
      const isTaken = isJson(text) && reference.isMetadata(text);
      expect([name, isTaken]).toEqual([name, false]);
    }
  });

  test('keys of notes of format 2', () => {
    const { key, commitment } = reference.noteKeys(buffer(vectors.keys.secret), buffer(vectors.keys.salt));
    expect([hex(key), hex(commitment)]).toEqual([vectors.keys.noteKeyV2, vectors.keys.noteKeyCommitment]);
  });

  test.each(notes.sealed)('a note of format 2: $name', ({ nonce, ciphertext, ...note }) => {
    const { contentType, text } = note;
    expect(hex(reference.sealNote(noteKeys, { ...note, nonce: buffer(nonce) }))).toBe(ciphertext);
    expect(reference.openNote(noteKeys, buffer(nonce), buffer(ciphertext))).toEqual({ contentType, text });
    if (note.noteMaxSize) expect(ciphertext.length / 2).toBeLessThanOrEqual(note.noteMaxSize + 256);
  });

  test.each(notes.opened)('it opens a note of format 2: $name', ({ contentType, text, nonce, ciphertext }) => {
    expect(reference.openNote(noteKeys, buffer(nonce), buffer(ciphertext))).toEqual({ contentType, text });
  });

  test.each(notes.refused)('it refuses a note of format 2: $name', ({ nonce, ciphertext, code }) => {
    expect(() => reference.openNote(noteKeys, buffer(nonce), buffer(ciphertext))).toThrow(code);
  });

  test('a note whose tag is right under two keys is refused under the one that it does not commit to', () => {
    const [nonce, ciphertext] = [buffer(notes.twoKeys.nonce), buffer(notes.twoKeys.ciphertext)];
    const [one, other] = notes.twoKeys.keys.map(({ secret, salt, plaintext }) => {
      const keys = reference.noteKeys(buffer(secret), buffer(salt));
      expect(hex(reference.decryptNote(keys.key, nonce, ciphertext))).toBe(plaintext);
      return keys;
    });
    if (!one || !other) throw new Error('there are two keys');
    expect(reference.openNote(one, nonce, ciphertext).text).toMatch(/^Alice gets 10/);
    expect(() => reference.openNote(other, nonce, ciphertext)).toThrow('tampered: another key');
  });

  test.each(vectors.payloads)('a payload of $size bytes', ({ noncePrefix, size, sha256: expected }) => {
    const ours = reference.payload(buffer(vectors.keys.fileKey), buffer(noncePrefix), reference.patterned(size));
    expect(sha256(ours)).toBe(expected);
    expect(reference.openPayload(buffer(vectors.keys.fileKey), ours).equals(reference.patterned(size))).toBe(true);
  });

  test.each(vectors.payloadsRefused)('it refuses a payload: $name', ({ code, ...payload }) => {
    expect(() => reference.openPayload(buffer(vectors.keys.fileKey), assemble(payload))).toThrow(code);
  });

  test('a file under a passphrase', () => {
    const { passphraseText, contentText, text, passwordKey, key, file, refused } = vectors.passphraseFile;
    const [fileSalt, nonce] = [Buffer.from(file.salt, 'base64url'), Buffer.from(file.nonce, 'base64')];
    expect(hex(reference.argon2idKey(passphraseText, fileSalt))).toBe(passwordKey);
    expect(hex(reference.fileKey(passphraseText, fileSalt))).toBe(key);
    expect(JSON.parse(reference.sealFile(text, contentText, passphraseText, fileSalt, nonce))).toEqual(file);
    expect(reference.openFile(JSON.stringify(file), contentText, passphraseText)).toBe(text);
    for (const { file, code, passphraseText: given = passphraseText } of refused) {
      expect(() => reference.openFile(JSON.stringify(file), contentText, given)).toThrow(code);
    }
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

  test('a password is normalized to NFC, not to NFKC', async () => {
    const { passwordSalt, normalized } = vectors.password;
    const key = (algo: 'argon2id' | 'pbkdf2', text: string) => derivePasswordKey(text, algo, fromHex(passwordSalt));
    const { passwordText } = normalized;
    const compatible = passwordText.normalize('NFKC');
    expect(hex(await key('argon2id', passwordText))).toBe(normalized.argon2id);
    expect(hex(await key('pbkdf2', passwordText))).toBe(normalized.pbkdf2);
    expect(hex(await key('argon2id', compatible))).toBe(normalized.notArgon2id);
    expect(hex(await key('pbkdf2', compatible))).toBe(normalized.notPbkdf2);
    expect(normalized.notArgon2id).not.toBe(normalized.argon2id);
  });

  test('protected links: link and password give the secret', async () => {
    const { passwordText, passwordSalt } = vectors.password;
    for (const { text, passwordAlgo } of vectors.link.opened) {
      const link = await parseLink(text);
      const algo = link.protection?.passwordAlgo;
      expect(algo ?? null).toBe(passwordAlgo);
      const key = algo ? await derivePasswordKey(passwordText, algo, fromHex(passwordSalt)) : new Uint8Array(32);
      expect(hex(xorSecret(link.secret, key))).toBe(vectors.keys.secret);
    }
  });

  test('sealed metadata', async () => {
    const { share, nonce, text, ciphertext } = vectors.sealedMetadata;
    const { metadata: key, authToken } = await deriveKeys(secret, salt, fromHex(share));
    expect(authToken).toBe(vectors.keys.authToken);
    const sealed = await sealMessage(key, 'mayfly v2 sealed metadata', text, fromHex(nonce));
    expect(hex(sealed.ciphertext)).toBe(ciphertext);
    expect(JSON.stringify(await openMetadata(key, sealed, true))).toBe(text);
    await expect(openMetadata(key, sealed)).rejects.toMatchObject({ code: 'tampered' });
    const other = await deriveKeys(secret, salt, fromHex(vectors.keys.secret));
    await expect(openMetadata(other.metadata, sealed, true)).rejects.toMatchObject({ code: 'tampered' });
    await expect(openMetadata((await deriveKeys(secret, salt)).metadata, sealed, true)).rejects.toMatchObject({
      code: 'tampered',
    });
  });

  test('old links', async () => {
    const old = { id: ID, baseUrl: 'https://mayfly.example', secret, protection: undefined, isUnlocked: false };
    const { uploadText, noteText } = vectors.link;
    expect(await parseLink(uploadText)).toEqual({ ...old, kind: 'upload' });
    expect(await parseLink(noteText)).toEqual({ ...old, kind: 'note' });
    expect(await formatLink(await parseLink(uploadText))).toBe(uploadText);
    expect(await formatLink(await parseLink(noteText))).toBe(noteText);
    expect(fromBase64url(uploadText.slice(-43), 32)).toEqual(secret);
  });

  test.each(vectors.link.opened)(
    'a link: $kind, $passwordAlgo',
    async ({ text, kind, secret, passwordAlgo, isSealed }) => {
      const link = await parseLink(text);
      const protection = { passwordAlgo: passwordAlgo ?? undefined, isSealed };
      expect(link).toMatchObject({ kind, id: ID, baseUrl: 'https://mayfly.example', isUnlocked: false, protection });
      expect(hex(link.secret)).toBe(secret);
      expect(await formatLink(link)).toBe(text);
    },
  );

  test.each(vectors.link.refused)('a link is refused: $why', async ({ text, code }) => {
    await expect(parseLink(text)).rejects.toMatchObject({ code });
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
      const keys = await deriveKeys(secret, salt);
      const plaintext = reference.patterned(size);
      const ciphertext = await collect(
        inPieces(plaintext).pipeThrough(encryptSegments(keys.file as CryptoKey, fromHex(noncePrefix))),
      );
      expect(sha256(ciphertext)).toBe(expected);
      expect(ciphertext).toHaveLength(bytes);
      expect([encryptedSize(size), plaintextSize(bytes)]).toEqual([bytes, size]);
      expect((await collect(openPayload(keys, inPieces(ciphertext)))).equals(plaintext)).toBe(true);
    },
  );

  const message = ({ nonce, ciphertext }: { nonce: string; ciphertext: string }) => ({
    nonce: fromHex(nonce),
    ciphertext: fromHex(ciphertext),
  });

  test.each(notes.sealed)('a note of format 2: $name', async ({ nonce, ciphertext, ...note }) => {
    const content = { text: note.text, contentType: note.contentType as NoteContentType };
    const key = await deriveNoteKey(secret, salt);
    const sealed = await sealNote(key, content, { noteMaxSize: note.noteMaxSize, nonce: fromHex(nonce) });
    expect(hex(sealed.ciphertext)).toBe(ciphertext);
    expect(await readNote(key, sealed)).toEqual(content);
  });

  test.each(notes.opened)('it opens a note of format 2: $name', async ({ contentType, text, ...sealed }) => {
    expect(await readNote(await deriveNoteKey(secret, salt), message(sealed))).toEqual({ contentType, text });
  });

  test.each(notes.refused)('it refuses a note of format 2: $name', async ({ code, ...sealed }) => {
    const reading = readNote(await deriveNoteKey(secret, salt), message(sealed));
    await expect(reading).rejects.toMatchObject({ name: 'MayflyError', code });
  });

  test('a note whose tag is right under two keys opens under the one that it commits to', async () => {
    const [one, other] = await Promise.all(
      notes.twoKeys.keys.map(({ secret, salt }) => deriveNoteKey(fromHex(secret), fromHex(salt))),
    );
    expect((await readNote(one as NoteKey, message(notes.twoKeys))).text).toMatch(/^Alice gets 10/);
    await expect(readNote(other as NoteKey, message(notes.twoKeys))).rejects.toMatchObject({ code: 'tampered' });
  });

  test.each(vectors.messages.refused)('it refuses $name', async ({ kind, contentType, nonce, ciphertext, code }) => {
    const keys = await deriveKeys(secret, salt);
    const sealed = { nonce: fromHex(nonce), ciphertext: fromHex(ciphertext) };
    const opening =
      kind === 'note'
        ? openMessage(keys.note, `mayfly v1 note ${contentType}`, sealed)
        : openMetadata(keys.metadata, sealed);
    await expect(opening).rejects.toMatchObject({ name: 'MayflyError', code });
  });

  test('metadata that is as it should be, and that is not', async () => {
    const { metadata: key } = await deriveKeys(secret, salt);
    const open = async (text: string) => openMetadata(key, await sealMessage(key, METADATA, text));
    for (const { text } of vectors.metadata.taken) expect(await open(text)).toEqual(JSON.parse(text));
    for (const { name, text, code } of vectors.metadata.refused) {
      const failure = await open(text).catch((error) => error);
      expect([name, failure.code]).toEqual([name, code]);
    }
  });

  test.each(vectors.payloadsRefused)('it refuses a payload: $name', async ({ code, ...payload }) => {
    const reading = collect(openPayload(await deriveKeys(secret, salt), inPieces(assemble(payload))));
    await expect(reading).rejects.toMatchObject({ name: 'MayflyError', code });
  });

  test('a file under a passphrase', async () => {
    const { passphraseText: passphrase, contentText: content, text, file, refused } = vectors.passphraseFile;
    expect(await openFile(JSON.stringify(file), { content, passphrase })).toBe(text);
    for (const { name, file, code, passphraseText: given = passphrase } of refused) {
      const failure = await openFile(JSON.stringify(file), { content, passphrase: given }).catch((error) => error);
      expect([name, failure.code]).toEqual([name, code]);
    }
  });
});
