import { readFile } from 'node:fs/promises';
import { type Link, type MayflyClient, MayflyError } from '@mayfly/client';
import { CliError } from './exit-codes.ts';
import type { Terminal } from './terminal.ts';

export type PasswordSource = { env: Record<string, string | undefined>; file?: string | undefined };

const TRIES = 3;

/** From a file (its first line) or from MAYFLY_PASSWORD; never from an argument, which other users of the machine see. */
async function givenPassword({ env, file }: PasswordSource): Promise<string | undefined> {
  if (file === undefined) return env.MAYFLY_PASSWORD || undefined;
  const text = await readFile(file, 'utf8').catch((error) => {
    throw new CliError('usage', `The password file ${file} cannot be read`, error);
  });
  const [line = ''] = text.split(/\r?\n/, 1);
  if (line === '') throw new CliError('usage', `The password file ${file} begins with an empty line`);
  return line;
}

/** For something new: asked twice, because nobody can read it with a password that was mistyped. */
export async function newPassword(terminal: Terminal, source: PasswordSource): Promise<string> {
  const given = await givenPassword(source);
  if (given !== undefined) return given;
  const password = await terminal.askHidden('Password');
  if (password === undefined) {
    throw new CliError('usage', 'There is no terminal to ask for a password: use --password-file or MAYFLY_PASSWORD');
  }
  if (password === '') throw new CliError('usage', 'The password is empty');
  if ((await terminal.askHidden('The same again')) !== password) {
    throw new CliError('usage', 'The two passwords are not the same');
  }
  return password;
}

/** The link with its password taken off. Spends nothing; asks again when a person mistypes. */
export async function unlockLink(
  terminal: Terminal,
  client: MayflyClient,
  link: Link,
  source: PasswordSource,
  signal: AbortSignal,
): Promise<Link> {
  const given = await givenPassword(source);
  if (given !== undefined) return client.checkPassword(link, given, { signal });
  for (let tries = 1; ; tries += 1) {
    const password = await terminal.askHidden('Password');
    if (password === undefined) throw new MayflyError('password-needed');
    if (password === '') continue;
    try {
      return await client.checkPassword(link, password, { signal });
    } catch (error) {
      if (!(error instanceof MayflyError) || error.code !== 'wrong-password' || tries === TRIES) throw error;
      terminal.say('The password is wrong.');
    }
  }
}
