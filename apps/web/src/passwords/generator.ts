// Passwords from the browser's own random source, every one as likely as every other.

/** Fills an array, as crypto.getRandomValues does. */
type FillRandom = (numbers: Uint32Array<ArrayBuffer>) => unknown;

export type GeneratedPassword = { password: string; entropyBits: number };

/** No l, I, 1, O and 0: they look alike when a password is read out or typed from paper. */
const LETTERS_AND_DIGITS = 'abcdefghijkmnopqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789';
const SYMBOLS = '!#$%&*+-./:;=?@_~';

const UINT32_VALUES = 2 ** 32;
const fillRandom: FillRandom = (numbers) => crypto.getRandomValues(numbers);

/** Words with a separator between them. The list must have no word twice. */
export function generateWords(
  { count, separator = '-', words }: { count: number; separator?: string; words: readonly string[] },
  fill = fillRandom,
): GeneratedPassword {
  const chosen = Array.from({ length: count }, () => words[randomBelow(words.length, fill)]);
  return { password: chosen.join(separator), entropyBits: count * Math.log2(words.length) };
}

export function generateCharacters(
  { length, symbols = false }: { length: number; symbols?: boolean },
  fill = fillRandom,
): GeneratedPassword {
  const alphabet = symbols ? LETTERS_AND_DIGITS + SYMBOLS : LETTERS_AND_DIGITS;
  const characters = Array.from({ length }, () => alphabet[randomBelow(alphabet.length, fill)]);
  return { password: characters.join(''), entropyBits: length * Math.log2(alphabet.length) };
}

/** A whole number from 0 to below the limit, each equally likely. */
export function randomBelow(limit: number, fill = fillRandom): number {
  // A remainder alone would favour small numbers: what is above the last full round is drawn again.
  const end = UINT32_VALUES - (UINT32_VALUES % limit);
  for (;;) {
    const [number = 0] = drawOne(fill);
    if (number < end) return number % limit;
  }
}

function drawOne(fill: FillRandom): Uint32Array<ArrayBuffer> {
  const numbers = new Uint32Array(1);
  fill(numbers);
  return numbers;
}
