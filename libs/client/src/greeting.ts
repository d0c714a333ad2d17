import { type Bytes, fromBase64, toBase64 } from './bytes.ts';
import { MayflyError } from './errors.ts';
import { openMessage, sealMessage } from './message.ts';
import { deriveGreetingKey } from './request-keys.ts';

// docs/crypto.md, "File requests".

const PURPOSE = 'mayfly v1 request greeting';
/** The contract's. */
const MAX_BYTES = 4096;

/** What a file request says to whoever has its link. */
export type Greeting = {
  /** What is asked for, or who asks. */
  title: string;
  text?: string | undefined;
};

/** As the service keeps it, in base64; null where there is none. */
export type StoredGreeting = { greeting: string | null; nonce: string | null };

/** Throws `too-large` when title and text are longer than the service takes: about 3,900 bytes. */
export async function sealGreeting(keyHash: Bytes, { title, text }: Greeting) {
  const message = await sealMessage(await deriveGreetingKey(keyHash), PURPOSE, JSON.stringify({ title, text }));
  if (message.ciphertext.length > MAX_BYTES) {
    throw new MayflyError('too-large', { message: 'Title and text of the request are too long' });
  }
  return { greeting: toBase64(message.ciphertext), nonce: toBase64(message.nonce) } satisfies StoredGreeting;
}

/** Nothing where there is none. Throws `tampered`. */
export async function openGreeting(keyHash: Bytes, stored: StoredGreeting): Promise<Partial<Greeting>> {
  if (stored.greeting === null && stored.nonce === null) return {};
  const [ciphertext, nonce] = [fromBase64(stored.greeting), fromBase64(stored.nonce)];
  if (!ciphertext || !nonce) throw new MayflyError('tampered');
  const greeting = parse(await openMessage(await deriveGreetingKey(keyHash), PURPOSE, { ciphertext, nonce }));
  if (typeof greeting?.title !== 'string' || !['string', 'undefined'].includes(typeof greeting.text)) {
    throw new MayflyError('tampered', { message: 'What the request says cannot be read' });
  }
  const { title, text } = greeting;
  return text === undefined ? { title } : { title, text };
}

function parse(text: string): Partial<Greeting> | null {
  try {
    return JSON.parse(text) as Partial<Greeting> | null; // every field is looked at above
  } catch {
    return null; // a broken client made it
  }
}
