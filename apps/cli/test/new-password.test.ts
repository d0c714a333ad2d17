import { expect, test } from 'vitest';
import { newPassword } from '../src/passwords.ts';
import type { Terminal } from '../src/terminal.ts';

/** Somebody who types these, one after the other. */
function typing(...typed: string[]) {
  const said: string[] = [];
  const terminal = {
    askHidden: async () => typed.shift(),
    say: (line) => void said.push(line),
  } as Partial<Terminal> as Terminal; // nothing else is asked of it
  return { said, terminal, left: typed };
}

test('two passwords that differ are asked for again', async () => {
  const { terminal, said, left } = typing('one', 'other', 'two', 'two', 'never asked');
  expect(await newPassword(terminal, { env: {} })).toBe('two');
  expect(said).toEqual(['The two passwords are not the same. Try again.']);
  expect(left).toEqual(['never asked']);
});

test('but not for ever', async () => {
  const { terminal, left } = typing('1', '2', '3', '4', '5', '6', '7', '7');
  await expect(newPassword(terminal, { env: {} })).rejects.toThrow('The two passwords are not the same');
  expect(left).toEqual(['7', '7']);
});
