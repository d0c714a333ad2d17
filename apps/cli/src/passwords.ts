import { readFile } from 'node:fs/promises';
import { type Link, type MayflyClient, MayflyError, type NoteInfo, type UploadInfo } from '@mayfly/client';
import type { Context } from './context.ts';
import { CliError } from './exit-codes.ts';
import type { Terminal } from './terminal.ts';

export type PasswordSource = { env: Record<string, string | undefined>; file?: string | undefined };

/** Of a command that opens a link. */
export type UnlockOptions = { passwordFile?: string; allowPbkdf2?: boolean };

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
  for (let tries = 1; ; tries += 1) {
    const password = await terminal.askHidden('Password');
    if (password === undefined) {
      throw new CliError('usage', 'There is no terminal to ask for a password: use --password-file or MAYFLY_PASSWORD');
    }
    if (password === '') throw new CliError('usage', 'The password is empty');
    if ((await terminal.askHidden('Repeat it')) === password) return password;
    const problem = 'The two passwords are not the same';
    if (tries === TRIES) throw new CliError('usage', problem);
    terminal.say(`${problem}. Try again.`);
  }
}

/** The link with its password taken off. Spends nothing; asks again when a person mistypes. */
export async function unlockLink(
  { terminal, env, signal }: Context,
  client: MayflyClient,
  link: Link,
  { passwordAlgo }: Pick<UploadInfo | NoteInfo, 'passwordAlgo'>,
  { passwordFile: file, allowPbkdf2 }: UnlockOptions,
): Promise<Link> {
  // Before anybody types a password in vain.
  if (passwordAlgo === 'pbkdf2' && !allowPbkdf2) throw new MayflyError('weak-password-algo');
  const check = (password: string) => client.checkPassword(link, password, { signal, allowPbkdf2 });
  return withPassword(terminal, { env, file }, check);
}

/** What some work comes to with the password; it throws `wrong-password` for another one. */
export async function withPassword<T>(
  terminal: Terminal,
  source: PasswordSource,
  work: (password: string) => Promise<T>,
): Promise<T> {
  const given = await givenPassword(source);
  if (given !== undefined) return work(given);
  for (let tries = 1; ; tries += 1) {
    const password = await terminal.askHidden('Password');
    if (password === undefined) throw new MayflyError('password-needed');
    if (password === '') continue;
    try {
      return await work(password);
    } catch (error) {
      if (!(error instanceof MayflyError) || error.code !== 'wrong-password' || tries === TRIES) throw error;
      terminal.say('The password is wrong.');
    }
  }
}
