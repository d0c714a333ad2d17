import { createHash } from 'node:crypto';

/** What a client is asked: a name, and values. Bytes are hex, texts are text. README.md lists them. */
type Question = { ask: string; given: Record<string, unknown> };
/** What is right: these values, or a refusal. */
export type Asked = Question & { section: string; name: string; expected: Record<string, unknown> | 'refused' };

type Text = { nonce: string; ciphertext: string };
type Named = { name: string };
export type Vectors = {
  keys: { secret: string; salt: string; authToken: string };
  owner: { ownerSecret: string; ownerToken: string };
  password: Record<'argon2id' | 'pbkdf2', { passwordKey: string }> & {
    passwordText: string;
    passwordSalt: string;
    normalized: { passwordText: string; argon2id: string; pbkdf2: string };
  };
  link: {
    opened: { text: string; kind: string; secret: string; passwordAlgo: string | null; isSealed: boolean }[];
    refused: { why: string; text: string }[];
  };
  metadata: Text & { text: string };
  sealedMetadata: Text & { share: string; text: string };
  messages: { refused: (Named & Text & { kind: string; contentType?: string })[] };
  notes: (Text & { contentType: string; text: string })[];
  notesOfFormat2: {
    sealed: (Named & Text & { contentType: string; text: string })[];
    opened: (Named & Text & { contentType: string; text: string })[];
    refused: (Named & Text)[];
  };
  payloads: { size: number; ciphertext?: string }[];
  inParts: {
    payloads: (Named & { secret: string; salt: string; size: number; paddedSize: number; ciphertext?: string })[];
  };
};

/** The plaintext of the payloads: byte i is i modulo 251, and what pads it is zero. */
const plaintextHash = (size: number, paddedSize: number) => {
  const bytes = Buffer.alloc(paddedSize);
  for (let i = 0; i < size; i++) bytes[i] = i % 251;
  return createHash('sha256').update(bytes).digest('hex');
};

/** Every question that the vectors have an answer to. */
export function questions(vectors: Vectors): Asked[] {
  const { secret, salt, authToken } = vectors.keys;
  const { owner, password, link, metadata, sealedMetadata } = vectors;
  const keys = { secret, salt };
  const text = ({ nonce, ciphertext }: Text) => ({ nonce, ciphertext });
  const passwords = (['argon2id', 'pbkdf2'] as const).flatMap((algo) => {
    const { passwordSalt, normalized } = password;
    const ask = (name: string, passwordText: string, passwordKey: string): Asked => ({
      section: algo,
      name: `password key: ${name}`,
      ask: 'passwordKey',
      given: { passwordText, passwordSalt, algo },
      expected: { passwordKey },
    });
    return [
      ask('a text', password.passwordText.normalize('NFC'), password[algo].passwordKey),
      ask('the same text, decomposed', password.passwordText.normalize('NFD'), password[algo].passwordKey),
      ask('a text that NFKC would change', normalized.passwordText, normalized[algo]),
    ];
  });
  return [
    { section: 'keys', name: 'auth token', ask: 'authToken', given: keys, expected: { authToken } },
    {
      section: 'keys',
      name: 'owner token',
      ask: 'ownerToken',
      given: { ownerSecret: owner.ownerSecret },
      expected: { ownerToken: owner.ownerToken },
    },
    ...passwords,
    ...link.opened.map(({ text, ...expected }, i): Asked => {
      const { kind, secret, passwordAlgo, isSealed } = expected;
      const name = `a link (${i + 1}): ${kind}, ${passwordAlgo ?? 'no password'}`;
      return {
        section: 'link',
        name,
        ask: 'openLink',
        given: { text },
        expected: { kind, secret, passwordAlgo, isSealed },
      };
    }),
    ...link.refused.map(
      ({ why, text }): Asked => ({
        section: 'link',
        name: `a link is refused: ${why}`,
        ask: 'openLink',
        given: { text },
        expected: 'refused',
      }),
    ),
    {
      section: 'meta',
      name: 'metadata',
      ask: 'openMetadata',
      given: { ...keys, ...text(metadata) },
      expected: { text: metadata.text },
    },
    {
      section: 'meta',
      name: 'sealed metadata',
      ask: 'openMetadata',
      given: { ...keys, ...text(sealedMetadata), share: sealedMetadata.share },
      expected: { text: sealedMetadata.text },
    },
    ...vectors.messages.refused.map(({ name, kind, contentType, ...message }): Asked => {
      const given = { ...keys, ...text(message), ...(kind === 'note' ? { contentType } : {}) };
      const ask = kind === 'note' ? 'openNote' : 'openMetadata';
      return { section: 'msg', name: `${kind} is refused: ${name}`, ask, given, expected: 'refused' };
    }),
    ...vectors.notes.map(
      ({ contentType, text: expected, ...note }, i): Asked => ({
        section: 'note',
        name: `a note of format 1 (${i + 1}): ${contentType}`,
        ask: 'openNote',
        given: { ...keys, contentType, ...text(note) },
        expected: { text: expected },
      }),
    ),
    ...[...vectors.notesOfFormat2.sealed, ...vectors.notesOfFormat2.opened].map(
      ({ name, contentType, text: expected, ...note }): Asked => ({
        section: 'note',
        name: `a note of format 2: ${name}`,
        ask: 'openNoteOfFormat2',
        given: { ...keys, ...text(note) },
        expected: { contentType, text: expected },
      }),
    ),
    ...vectors.notesOfFormat2.refused.map(
      ({ name, ...note }): Asked => ({
        section: 'note',
        name: `a note of format 2 is refused: ${name}`,
        ask: 'openNoteOfFormat2',
        given: { ...keys, ...text(note) },
        expected: 'refused',
      }),
    ),
    ...[
      ...vectors.payloads.map((payload) => ({ ...keys, name: 'one stream', paddedSize: payload.size, ...payload })),
      ...vectors.inParts.payloads.map((payload) => ({ ...payload, name: `in parts, ${payload.name}` })),
    ].flatMap(({ name, size, paddedSize, ciphertext, secret, salt }): Asked[] =>
      // Of the large ones the vectors have a hash only.
      ciphertext === undefined
        ? []
        : [
            {
              section: 'load',
              name: `a payload of ${size} bytes, ${name}`,
              ask: 'openPayload',
              given: { secret, salt, ciphertext },
              expected: { sha256: plaintextHash(size, paddedSize) },
            },
            {
              section: 'load',
              name: `a payload of ${size} bytes, ${name}, is refused with a bit flipped`,
              ask: 'openPayload',
              given: { secret, salt, ciphertext: flipLast(ciphertext) },
              expected: 'refused',
            },
          ],
    ),
  ];
}

const flipLast = (hex: string) => hex.slice(0, -1) + (Number.parseInt(hex.slice(-1), 16) ^ 1).toString(16);
