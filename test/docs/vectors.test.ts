import { readFileSync } from 'node:fs';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect, test } from 'vitest';

const read = (name: string) => JSON.parse(readFileSync(new URL(`../../docs/vectors/${name}`, import.meta.url), 'utf8'));

test('the known answers are as their schema says, which is one', () => {
  const validate = new Ajv2020({ strict: true, strictRequired: false }).compile(read('vectors.schema.json'));
  const vectors = read('vectors.json');
  validate(vectors);
  expect(validate.errors ?? []).toEqual([]);
  expect(validate({ ...vectors, keys: { ...vectors.keys, salt: '00' } })).toBe(false);
});
