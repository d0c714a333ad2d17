// Runs in a browser: the known answers, and a round trip through the service behind the page.
import { MayflyClient, unpack } from '../src/index.ts';
import { deriveKeys, deriveOwnerToken } from '../src/keys.ts';
import { openMessage, sealMessage } from '../src/message.ts';
import { derivePasswordKey } from '../src/password.ts';
import { decryptSegments, encryptSegments } from '../src/segments.ts';

const hex = (bytes) => [...new Uint8Array(bytes)].map((byte) => byte.toString(16).padStart(2, '0')).join('');
const fromHex = (text) => Uint8Array.from(text.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
const sha256 = async (bytes) => hex(await crypto.subtle.digest('SHA-256', bytes));
const patterned = (size) => Uint8Array.from({ length: size }, (_, index) => index % 251);
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
    const opened = await collect(new Blob([payload]).stream().pipeThrough(decryptSegments(keys.file)));
    same(`payload of ${size} bytes, opened`, await sha256(opened), await sha256(patterned(size)));
  }
}

async function roundTrip() {
  const client = new MayflyClient({ baseUrl: location.origin });
  const contents = [patterned(5_000_000), patterned(10)];
  const files = contents.map((content, index) => new File([content], `${index}.txt`, { type: 'text/plain' }));
  const steps = [];
  const { link } = await client.uploadFiles(files, {
    expireSec: 300,
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
  const note = await client.createNote('a note', { expireSec: 300, maxViews: 1 });
  same('note', (await client.viewNote(note.link)).text, 'a note');
  const stopped = client.uploadFiles(files, { expireSec: 300, maxDownloads: 1, signal: AbortSignal.abort() });
  same('abort', await stopped.catch(({ code }) => code), 'aborted');
}

try {
  await knownAnswers();
  await roundTrip();
} catch (error) {
  same('failure', `${error.stack}`, 'none');
}
await fetch('/result', { method: 'POST', body: JSON.stringify(found) });
