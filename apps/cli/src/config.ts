import { readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { CliError } from './exit-codes.ts';

type Env = Record<string, string | undefined>;

export type Config = {
  /** Address of the service. */
  server?: string;
  /** As on the command line: `1d`. */
  expires?: string;
  downloads?: number;
  views?: number;
  /** Whether `mayfly list` can show links again. */
  keepLinks?: boolean;
};

const KINDS: Record<keyof Config, string> = {
  server: 'string',
  expires: 'string',
  downloads: 'number',
  views: 'number',
  keepLinks: 'boolean',
};

/** `$XDG_CONFIG_HOME/mayfly/config.json`, or what MAYFLY_CONFIG names. */
function configPath(env: Env): string {
  return env.MAYFLY_CONFIG || join(env.XDG_CONFIG_HOME || join(homedir(), '.config'), 'mayfly', 'config.json');
}

/** Where owner secrets are kept, unfinished uploads, and requests. */
export function dataFolder(env: Env, name: 'owned' | 'unfinished' | 'requests'): string {
  return join(env.XDG_DATA_HOME || join(homedir(), '.local', 'share'), 'mayfly', name);
}

/** No file is an empty one. A name or a value that means nothing is told: a setting must not be ignored unseen. */
export async function readConfig(env: Env): Promise<Config> {
  const path = configPath(env);
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT' && !env.MAYFLY_CONFIG) return {};
    throw new CliError('usage', `The config file ${path} cannot be read`, error);
  }
  let config: unknown;
  try {
    config = JSON.parse(text);
  } catch (error) {
    throw new CliError('usage', `The config file ${path} is not JSON`, error);
  }
  if (typeof config !== 'object' || config === null || Array.isArray(config)) {
    throw new CliError('usage', `The config file ${path} is not a JSON object`);
  }
  for (const [name, value] of Object.entries(config)) {
    const kind = Object.hasOwn(KINDS, name) ? KINDS[name as keyof Config] : undefined; // it has been looked up
    if (!kind) throw new CliError('usage', `The config file ${path} has an unknown setting: ${name}`);
    if (typeof value !== kind) throw new CliError('usage', `In the config file ${path}, ${name} is not a ${kind}`);
  }
  return config; // every field has been looked at
}
