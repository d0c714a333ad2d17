import { COMMON_PASSWORDS } from './common-passwords.ts';

// A small estimate that prefers to be too low: it takes every run of letters for a word, because it cannot know which
// are. Passwords from the generator do not need it: there the number is exact.

/** Bits of a word that somebody chose: one of about 30,000. */
const WORD_BITS = 15;
/** More letters than words have: beyond them, another word. */
const WORD_LETTERS = 12;
const LETTER_BITS = Math.log2(26);
const DIGIT_BITS = Math.log2(10);
const SYMBOL_BITS = Math.log2(33);
/** What everybody tries first. */
const COMMON_BITS = 7;
/** Where a sequence begins, which way it goes and how far. */
const SEQUENCE_BITS = 6;
/** A year of a life that is not over. */
const YEAR_BITS = 7;
/** A day of such a year. */
const DATE_BITS = 15;
const CAPITALS_BITS = 1;

const ROWS = [
  'abcdefghijklmnopqrstuvwxyz',
  '01234567890',
  'qwertzuiop',
  'qwertyuiop',
  'asdfghjkl',
  'yxcvbnm',
  'zxcvbnm',
];
const LONGEST_ROW = 26;
const LEET: Record<string, string> = { '0': 'o', '1': 'i', '3': 'e', '4': 'a', '5': 's', '7': 't', '@': 'a', $: 's' };
const DATE =
  /^(?:\d{1,2}[./-]\d{1,2}[./-](?:\d{4}|\d{2})|(?:19|20)\d{2}[./-]?\d{2}[./-]?\d{2}|\d{2}\d{2}(?:19|20)\d{2})/;
const YEAR = /^(?:19|20)\d{2}/;

export type Level = 'weak' | 'fair' | 'strong';

/**
 * How many bits somebody needs to guess who knows how people choose passwords; at most so many, since what is known about
 * the person cannot be taken into account.
 */
export function estimateBits(password: string): number {
  const composed = password.normalize('NFC');
  const plain = composed.toLowerCase();
  const bare = plain.replace(/[^\p{L}]+$/u, '');
  const isCommon = [plain, bare, unleet(bare), unleet(plain)].some((text) => COMMON_PASSWORDS.has(text));
  const rest = COMMON_PASSWORDS.has(plain) || COMMON_PASSWORDS.has(unleet(plain)) ? '' : plain.slice(bare.length);
  const bits = isCommon ? COMMON_BITS + estimatePieces(rest) : estimatePieces(composed);
  return bits + (composed === plain ? 0 : CAPITALS_BITS);
}

/** Read with the cost of a guess in mind: one argon2id with 64 MiB (docs/crypto.md, "What can be guessed"). */
export function levelOf(bits: number): Level {
  // At a million guesses a second, which takes hundreds of graphics cards: 35 bits last ten hours, 50 bits 35 years.
  if (bits < 35) return 'weak';
  return bits < 50 ? 'fair' : 'strong';
}

/** The sum of the pieces, cut greedily from the left; a piece that was there before costs a guess or two. */
function estimatePieces(text: string): number {
  const seen = new Set<string>();
  let bits = 0;
  for (let at = 0; at < text.length; ) {
    const piece = nextPiece(text.slice(at));
    bits += seen.has(piece.text) ? 1 : piece.bits;
    seen.add(piece.text);
    at += piece.text.length;
  }
  return bits;
}

type Piece = { text: string; bits: number };

function nextPiece(text: string): Piece {
  const repeat = /^(.{1,4}?)\1{2,}/su.exec(text);
  if (repeat?.[1]) return { text: repeat[0], bits: estimatePieces(repeat[1]) + Math.log2(repeat[0].length) };
  const sequence = sequenceLength(text);
  if (sequence >= 3) return { text: text.slice(0, sequence), bits: SEQUENCE_BITS };
  const [date] = DATE.exec(text) ?? [];
  if (date) return { text: date, bits: DATE_BITS };
  const [year] = YEAR.exec(text) ?? [];
  if (year) return { text: year, bits: YEAR_BITS };
  // A capital letter in the middle begins another word.
  const [letters] = /^\p{L}(?:\P{Lu}(?<=\p{L})|\p{Lu}(?<=\p{Lu}{2}))*/u.exec(text) ?? [];
  if (letters) return word(letters);
  const [first = ''] = text;
  return { text: first, bits: characterBits(first) };
}

/** Letters up to the first sequence in them, at most as many as a word has. */
function word(letters: string): Piece {
  let end = 1;
  while (end < Math.min(letters.length, WORD_LETTERS) && sequenceLength(letters.slice(end)) < 4) end += 1;
  const text = letters.slice(0, end);
  return {
    text,
    bits: COMMON_PASSWORDS.has(text.toLowerCase()) ? COMMON_BITS : Math.min(WORD_BITS, text.length * LETTER_BITS),
  };
}

/** How far the text follows the alphabet, the digits or a row of the keyboard, forwards or backwards. */
function sequenceLength(cased: string): number {
  const text = cased.slice(0, LONGEST_ROW).toLowerCase();
  let longest = 0;
  for (const row of ROWS) {
    for (const order of [row, [...row].reverse().join('')]) {
      let length = 2;
      if (!order.includes(text.slice(0, length))) continue;
      while (length < text.length && order.includes(text.slice(0, length + 1))) length += 1;
      longest = Math.max(longest, Math.min(length, text.length));
    }
  }
  return longest;
}

function characterBits(character: string): number {
  if (/\d/.test(character)) return DIGIT_BITS;
  return /\p{L}/u.test(character) ? LETTER_BITS : SYMBOL_BITS;
}

function unleet(text: string): string {
  return text.replace(/[013457@$]/g, (character) => LEET[character] ?? character);
}
