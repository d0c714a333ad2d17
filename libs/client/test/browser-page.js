// Runs in a browser: the known answers, and a round trip through the service behind the page.
import { MayflyClient, toBlob, unpack } from '../src/index.ts';
import { deriveKeys, deriveOwnerToken } from '../src/keys.ts';
import { openMessage, sealMessage } from '../src/message.ts';
import { openPayload } from '../src/open-payload.ts';
import { padme } from '../src/padding.ts';
import { cutIntoParts, encryptPart } from '../src/parts.ts';
import { derivePasswordKey } from '../src/password.ts';
import { encryptSegments } from '../src/segments.ts';

const hex = (bytes) => [...new Uint8Array(bytes)].map((byte) => byte.toString(16).padStart(2, '0')).join('');
const fromHex = (text) => Uint8Array.from(text.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
const sha256 = async (bytes) => hex(await crypto.subtle.digest('SHA-256', bytes));
const patterned = (size) => {
  const bytes = new Uint8Array(size);
  for (let at = 0; at < size; at += 1) bytes[at] = at % 251;
  return bytes;
};
const collect = (stream) => new Response(stream).arrayBuffer();

const found = [];
function same(what, actual, expected) {
  found.push({ what, actual: JSON.stringify(actual), expected: JSON.stringify(expected) });
}

async function knownAnswers() {
  const vectors = await (await fetch('/vectors.json')).json();
  const keys = await deriveKeys(fromHex(vectors.keys.secret), fromHex(vectors.keys.salt));
  same('auth token', keys.authToken, vectors.keys.authToken);
  same('owner token', await deriveOwnerToken(fromHex(vectors.owner.ownerSecret)), vectors.owner.ownerToken);
  for (const algo of ['argon2id', 'pbkdf2']) {
    const { passwordText, passwordSalt } = vectors.password;
    const key = await derivePasswordKey(passwordText, algo, fromHex(passwordSalt));
    same(algo, hex(key), vectors.password[algo].passwordKey);
  }
  const messages = [
    { ...vectors.metadata, key: keys.metadata, purpose: 'mayfly v1 metadata' },
    ...vectors.notes.map((note) => ({ ...note, key: keys.note, purpose: `mayfly v1 note ${note.contentType}` })),
  ];
  for (const { key, purpose, text, nonce, ciphertext } of messages) {
    const sealed = await sealMessage(key, purpose, text, fromHex(nonce));
    same(purpose, hex(sealed.ciphertext), ciphertext);
    same(`${purpose}, opened`, await openMessage(key, purpose, sealed), text);
  }
  for (const { size, noncePrefix, sha256: expected } of vectors.payloads) {
    const plaintext = new Blob([patterned(size)]).stream();
    const payload = await collect(plaintext.pipeThrough(encryptSegments(keys.file, fromHex(noncePrefix))));
    same(`payload of ${size} bytes`, await sha256(payload), expected);
    const opened = await collect(openPayload(keys, new Blob([payload]).stream()));
    same(`payload of ${size} bytes, opened`, await sha256(opened), await sha256(patterned(size)));
  }
}

async function payloadsInParts() {
  const { keys: own, inParts } = await (await fetch('/vectors.json')).json();
  const keys = await deriveKeys(fromHex(own.secret), fromHex(own.salt));
  const sealed = [];
  for (const { size, paddedSize } of inParts.padme) same(`${size} bytes, padded`, padme(size), paddedSize);
  for (const {
    name,
    secret,
    salt,
    segmentsPerPart,
    partSalts,
    size,
    paddedSize,
    sha256: expected,
  } of inParts.payloads) {
    const keys = await deriveKeys(fromHex(secret), fromHex(salt));
    const salts = partSalts.map(fromHex).values();
    const parts = [];
    const content = new Blob([patterned(size)]).stream();
    for await (const part of cutIntoParts(content, segmentsPerPart, { padTo: () => paddedSize })) {
      parts.push(await encryptPart(keys.payload, part, segmentsPerPart, () => salts.next().value));
    }
    const payload = new Blob(parts);
    sealed.push(payload);
    same(`${name}, sealed`, await sha256(await payload.arrayBuffer()), expected);
    const opened = await collect(openPayload(keys, payload.stream(), { sizeBytes: size }));
    same(`${name}, opened`, await sha256(opened), await sha256(patterned(size)));
  }
  for (const { name, firstPart, contentBytes, pieces, flip, code, plaintextFrom, plaintextBytes } of [
    ...inParts.opened,
    ...inParts.refused,
  ]) {
    const parts = pieces.map(({ payload, from, to, hex }) => (hex ? fromHex(hex) : sealed[payload].slice(from, to)));
    const whole = new Uint8Array(await new Blob(parts).arrayBuffer());
    if (flip) whole[flip.at] ^= flip.mask;
    const stream = openPayload(keys, new Blob([whole]).stream(), { firstPart, sizeBytes: contentBytes });
    const end = await read(stream).then(sha256, (error) => error.code);
    same(name, end, code ?? (await sha256(patterned(plaintextFrom + plaintextBytes).slice(plaintextFrom))));
  }
  const { ciphertext, keys: both } = inParts.twoKeys;
  for (const [index, { secret, salt, plaintext }] of both.entries()) {
    const keys = await deriveKeys(fromHex(secret), fromHex(salt));
    const end = await read(openPayload(keys, new Blob([fromHex(ciphertext)]).stream())).then(hex, ({ code }) => code);
    same(`two keys, ${index}`, end, index === 0 ? plaintext : 'tampered');
  }
}

/** Not through a Response, which has an error of its own for every stream that fails. */
async function read(stream) {
  return (await toBlob({ stream })).arrayBuffer();
}

async function roundTrip() {
  const client = new MayflyClient({ baseUrl: location.origin });
  const contents = [patterned(5_000_000), patterned(10)];
  const files = contents.map((content, index) => new File([content], `${index}.txt`, { type: 'text/plain' }));
  const steps = [];
  const { link } = await client.uploadFiles(files, {
    expireSec: 3600,
    maxDownloads: 1,
    password: 'right',
    onProgress: (doneBytes, totalBytes) => steps.push([doneBytes, totalBytes]),
  });
  same('last step', steps.at(-1)[0], steps.at(-1)[1]);
  same('wrong password', await client.checkPassword(link, 'wrong').catch(({ code }) => code), 'wrong-password');
  const { metadata, payload } = await client.download(link, { password: 'right' });
  const received = [];
  for await (const { name, stream } of unpack(metadata, payload))
    received.push([name, await sha256(await collect(stream))]);
  same('files', received, [
    ['0.txt', await sha256(contents[0])],
    ['1.txt', await sha256(contents[1])],
  ]);
  const note = await client.createNote('a note', { expireSec: 3600, maxViews: 1 });
  same('note', (await client.viewNote(note.link)).text, 'a note');
  const stopped = client.uploadFiles(files, { expireSec: 3600, maxDownloads: 1, signal: AbortSignal.abort() });
  same('abort', await stopped.catch(({ code }) => code), 'aborted');
}

async function archives() {
  const { forged } = (await (await fetch('/vectors.json')).json()).archives;
  const metadata = { archive: 'zip', files: forged.files.map((file) => ({ ...file, type: '' })) };
  const unpackAll = async (bytes) => {
    for await (const { stream } of unpack(metadata, new Blob([fromHex(bytes)]).stream())) await read(stream);
    return 'whole';
  };
  same('an archive', await unpackAll(forged.genuine), 'whole');
  for (const { name, bytes } of forged.archives) {
    same(`an archive with ${name}`, await unpackAll(bytes).catch(({ code }) => code), 'tampered');
  }
}

try {
  await knownAnswers();
  await payloadsInParts();
  await archives();
  await roundTrip();
} catch (error) {
  same('failure', `${error.stack}`, 'none');
}
await fetch('/result', { method: 'POST', body: JSON.stringify(found) });
