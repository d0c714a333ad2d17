import { createHash } from 'node:crypto';
import { createInterface } from 'node:readline';
import type { PasswordAlgo } from '../src/index.ts';
import { deriveKeys, deriveNoteKey, deriveOwnerToken } from '../src/keys.ts';
import { parseLink } from '../src/link.ts';
import { openMessage } from '../src/message.ts';
import { openMetadata } from '../src/metadata.ts';
import { readNote } from '../src/note-message.ts';
import { openPayload } from '../src/open-payload.ts';
import { derivePasswordKey } from '../src/password.ts';
import { collect, fromHex, inPieces } from './bytes.ts';

// The library answers the questions of the conformance kit: apps/conformance/README.md.

type Given = Record<string, string>;

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');
const bytesOf = (given: Given, name: string) => fromHex(given[name] ?? '');
const keysOf = (given: Given) =>
  deriveKeys(bytesOf(given, 'secret'), bytesOf(given, 'salt'), given.share ? bytesOf(given, 'share') : undefined);
const messageOf = (given: Given) => ({ nonce: bytesOf(given, 'nonce'), ciphertext: bytesOf(given, 'ciphertext') });

const ANSWERS: Record<string, (given: Given) => Promise<object>> = {
  authToken: async (given) => ({ authToken: (await keysOf(given)).authToken }),
  ownerToken: async (given) => ({ ownerToken: await deriveOwnerToken(bytesOf(given, 'ownerSecret')) }),
  async passwordKey({ passwordText = '', algo, passwordSalt = '' }) {
    const key = await derivePasswordKey(passwordText, algo as PasswordAlgo, fromHex(passwordSalt));
    return { passwordKey: hex(key) };
  },
  async openLink({ text = '' }) {
    const { kind, secret, protection } = await parseLink(text);
    const { passwordAlgo = null, isSealed = false } = protection ?? {};
    return { kind, secret: hex(secret), passwordAlgo, isSealed };
  },
  async openMetadata(given) {
    const isSealed = given.share !== undefined;
    return { text: JSON.stringify(await openMetadata((await keysOf(given)).metadata, messageOf(given), isSealed)) };
  },
  openNote: async (given) => ({
    text: await openMessage((await keysOf(given)).note, `mayfly v1 note ${given.contentType}`, messageOf(given)),
  }),
  openNoteOfFormat2: async (given) =>
    readNote(await deriveNoteKey(bytesOf(given, 'secret'), bytesOf(given, 'salt')), messageOf(given)),
  async openPayload(given) {
    const payload = inPieces(Buffer.from(given.ciphertext ?? '', 'hex'));
    const plaintext = await collect(openPayload(await keysOf(given), payload));
    return { sha256: createHash('sha256').update(plaintext).digest('hex') };
  },
};

for await (const line of createInterface({ input: process.stdin })) {
  const { ask, given } = JSON.parse(line) as { ask: string; given: Given };
  const answering = ANSWERS[ask]?.(given).then(
    (answer) => ({ answer }),
    (error: { code?: string }) => ({ refused: error.code ?? true }),
  );
  console.log(JSON.stringify((await answering) ?? { unknown: true }));
}
