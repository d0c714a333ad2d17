import type { Context } from './context.ts';
import { CliError } from './exit-codes.ts';

/** Whether files that exist are replaced. Throws when they must not be. */
export async function askToReplace(
  { terminal }: Context,
  existing: string[],
  { force = false }: { force?: boolean },
): Promise<boolean> {
  const [first, ...others] = existing;
  if (force || first === undefined) return force;
  const what = others.length === 0 ? `${first} already exists` : `${first} and ${others.length} more already exist`;
  if (!(await terminal.confirm(`${what}. Replace?`))) {
    throw new CliError('exists', `${what}; nothing was downloaded. -o saves elsewhere, --force replaces`);
  }
  return true;
}
