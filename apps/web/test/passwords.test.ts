import { expect, test } from 'vitest';
import { generateCharacters, generateWords, randomBelow } from '../src/passwords/generator.ts';
import { estimateBits, levelOf } from '../src/passwords/strength.ts';
import { loadWords } from '../src/passwords/words.ts';

/** Gives these numbers one after the other, then fails. */
function numbers(...values: number[]) {
  const left = values.values();
  return (array: Uint32Array) => {
    const { value, done } = left.next();
    if (done) throw new Error('more was drawn than expected');
    array[0] = value;
  };
}

/** Spread like random ones, so that a test about many passwords says the same every time. */
function sameNumbersEveryRun() {
  let state = 1;
  return (array: Uint32Array) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    // The low bits of such a generator repeat soon.
    array[0] = Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) >>> 0;
  };
}

test('a number that would make some results more likely is drawn again', () => {
  // 2^32 = 10 * 429,496,729 + 6: the last six values belong to no full round.
  expect(randomBelow(10, numbers(4_294_967_290, 4_294_967_295, 4_294_967_289))).toBe(9);
  expect(randomBelow(10, numbers(4_294_967_280))).toBe(0);
  expect(randomBelow(2048, numbers(4_294_967_295))).toBe(2047);
  expect(randomBelow(1, numbers(17))).toBe(0);
});

test('every result comes about equally often', () => {
  const counts = new Uint32Array(57);
  for (const _ of Array(57 * 1000)) {
    const drawn = randomBelow(57);
    counts[drawn] = (counts[drawn] ?? 0) + 1;
  }
  // Chi-squared with 56 degrees of freedom: above 120 once in about a million runs.
  const chiSquared = counts.reduce((sum, count) => sum + (count - 1000) ** 2 / 1000, 0);
  expect(chiSquared).toBeLessThan(120);
});

test('the list has 2,048 words, none twice, so each stands for 11 bits', async () => {
  const words = await loadWords();
  expect(new Set(words).size).toBe(2048);
  const { password, entropyBits } = generateWords({ count: 5, words });
  expect(entropyBits).toBe(55);
  expect(password.split('-')).toHaveLength(5);
  for (const word of password.split('-')) expect(words).toContain(word);
});

test('the words are those that were drawn', () => {
  const words = ['ape', 'bee', 'cat', 'dog'];
  const generated = generateWords({ count: 3, separator: ' ', words }, numbers(2, 0, 7));
  expect(generated).toEqual({ password: 'cat ape dog', entropyBits: 6 });
});

test('characters have none that look alike, and the entropy of the alphabet', () => {
  const plain = generateCharacters({ length: 5000 });
  expect(plain.password).toMatch(/^[a-km-zA-HJ-NP-Z2-9]{5000}$/);
  expect(new Set(plain.password).size).toBe(57);
  expect(plain.entropyBits).toBeCloseTo(5000 * Math.log2(57));
  const withSymbols = generateCharacters({ length: 5000, symbols: true });
  expect(withSymbols.entropyBits).toBeCloseTo(5000 * Math.log2(new Set(withSymbols.password).size));
});

test('two passwords differ', () => {
  expect(generateCharacters({ length: 20 }).password).not.toBe(generateCharacters({ length: 20 }).password);
});

test.each([
  ['', 0],
  ['password', 8],
  ['Passwort123!', 20],
  ['P4ssw0rd', 10],
  ['123456789', 8],
  ['qwertzuiop', 8],
  ['abcdefgh', 8],
  ['zyxwvu', 8],
  ['aaaaaaaaaaaaaaaa', 10],
  ['abcabcabcabcabc', 14],
  ['24.12.1985', 16],
  ['19851224', 16],
  ['anna1985', 25],
  ['wintergarten', 17],
  ['hundhundhundhund', 24],
])('%j is guessed with at most %d bits', (password, most) => {
  expect(estimateBits(password)).toBeLessThanOrEqual(most);
  expect(levelOf(estimateBits(password))).toBe('weak');
});

test('what is random is not called weak, and never more than it is', async () => {
  const words = await loadWords();
  const fill = sameNumbersEveryRun();
  for (const _ of Array(200)) {
    const characters = generateCharacters({ length: 16, symbols: true }, fill);
    expect(levelOf(estimateBits(characters.password))).toBe('strong');
    expect(estimateBits(characters.password)).toBeLessThan(characters.entropyBits);
    expect(levelOf(estimateBits(generateWords({ count: 4, words }, fill).password))).not.toBe('weak');
  }
});

test('more of it is not weaker', () => {
  for (const password of ['Anna', 'x7#', 'blue house', 'Grüße']) {
    expect(estimateBits(`${password} k9?w`)).toBeGreaterThan(estimateBits(password));
  }
});

test('a very long text is estimated, too', () => {
  expect(estimateBits('correct horse battery staple '.repeat(100))).toBeGreaterThan(35);
  expect(estimateBits('x'.repeat(10_000))).toBeLessThan(35);
});
