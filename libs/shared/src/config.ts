import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { parseRedisAddress } from './redis-address.ts';

/** One setting: how its text is read, what it is without one, and the line that the settings table prints. */
export type Setting<T> = {
  read: (text: string) => T;
  /** The default as an operator would write it; undefined when there is none. */
  fallback: string | undefined;
  about: string;
  /** What a value looks like, for the table and for the message about a bad one. */
  shape: string;
  optional: boolean;
};

export type Config<S extends Record<string, Setting<unknown>>> = {
  [K in keyof S]: S[K] extends Setting<infer T> ? T : never;
};

/** The start's one message about settings. It names each bad setting and never prints a value. */
export class ConfigError extends Error {
  override name = 'ConfigError';
}

export function setting<T>(shape: string, read: (text: string) => T | undefined) {
  return (fallback: string | undefined, about: string): Setting<T> => ({
    read: (text) => {
      const value = read(text);
      if (value === undefined) throw new ConfigError(`must be ${shape}`);
      return value;
    },
    fallback,
    about,
    shape,
    optional: false,
  });
}

/** The largest whole number that every place can hold which one ends up in: columns, timers of Node, times that are added to now. */
const LARGEST = 2 ** 31 - 1;

const integer = (text: string, min = 0): number | undefined => {
  const value = /^\d{1,15}$/.test(text) ? Number(text) : undefined;
  return value !== undefined && value >= min && value <= LARGEST ? value : undefined;
};

const BYTE_UNITS: Record<string, number> = { '': 0, K: 10, M: 20, G: 30, T: 40 };

function parseBytes(text: string): number | undefined {
  const match = /^(\d{1,15})\s*([KMGT]?)(i?B)?$/i.exec(text);
  if (!match) return undefined;
  const value = Number(match[1]) * 2 ** (BYTE_UNITS[match[2]?.toUpperCase() ?? ''] ?? 0);
  return Number.isSafeInteger(value) ? value : undefined;
}

function parseOptions(text: string): number[] | undefined {
  const values = text.split(',').map((part) => integer(part.trim(), 1));
  return values.every((value) => value !== undefined) ? [...new Set(values)].sort((a, b) => a - b) : undefined;
}

export function isNetwork(value: string): boolean {
  const [address = '', prefix, ...rest] = value.split('/');
  const bits = { 4: 32, 6: 128 }[isIP(address)];
  return bits !== undefined && rest.length === 0 && (prefix === undefined || (integer(prefix) ?? bits + 1) <= bits);
}

export function parseUrl(text: string, protocols: string[]): string | undefined {
  return URL.canParse(text) && protocols.includes(new URL(text).protocol) ? text : undefined;
}

function parseHashes(text: string): ReadonlyMap<string, { bytes: number | undefined }> | undefined {
  const found = new Map<string, { bytes: number | undefined }>();
  for (const part of text.split(/[\s,]+/).filter((one) => one !== '')) {
    const [hash = '', size, ...others] = part.toLowerCase().split(':');
    const bytes = size === undefined ? undefined : parseBytes(size);
    if (!/^[0-9a-f]{64}$/.test(hash) || others.length > 0 || (size !== undefined && bytes === undefined))
      return undefined;
    found.set(hash, { bytes });
  }
  return found.size > 0 ? found : undefined;
}

function parseOrigins(text: string): string[] | undefined {
  const origins = text.split(',').map((part) => part.trim());
  return origins.every((origin) => parseUrl(origin, ['http:', 'https:']) && new URL(origin).origin === origin)
    ? origins
    : undefined;
}

export const count = setting(`a whole number from 0 to ${LARGEST}`, (text) => integer(text));
export const positive = setting(`a whole number from 1 to ${LARGEST}`, (text) => integer(text, 1));
/** For what must stay small, such as a time that somebody waits. */
export const countUpTo = (max: number) =>
  setting(`a whole number from 0 to ${max}`, (text) => {
    const value = integer(text);
    return value !== undefined && value <= max ? value : undefined;
  });
export const share = setting('a number from 0 to 1', (text) => {
  const value = /^\d+(\.\d+)?$/.test(text) ? Number(text) : undefined;
  return value !== undefined && value <= 1 ? value : undefined;
});
export const port = setting('a port number from 1 to 65535', (text) => {
  const value = integer(text, 1);
  return value !== undefined && value <= 65_535 ? value : undefined;
});
/** Sizes are binary whatever the unit is called: `20971520`, `20MB` and `20MiB` are the same. */
export const bytes = setting('a size such as 20971520, 20MB or 20MiB', parseBytes);
/** For what is held in memory as a whole. */
export const bytesUpTo = (max: string) =>
  setting(`a size such as 1048576, 1MB or 1MiB, at most ${max}`, (text) => {
    const value = parseBytes(text);
    return value !== undefined && value <= (parseBytes(max) ?? 0) ? value : undefined;
  });
/** The values that an upload or a note may choose from; kept in rising order. */
export const options = setting(`whole numbers from 1 to ${LARGEST}, separated by commas`, parseOptions);
/** Which proxies may name the client: how many stand in front, or their addresses. */
export const proxies = setting('a number of proxies, or their addresses or networks, separated by commas', (value) => {
  const hops = integer(value);
  if (hops !== undefined) return hops;
  const networks = value.split(',').map((part) => part.trim());
  return networks.every(isNetwork) ? networks : undefined;
});
export const text = setting('text', (value) => value);
export const httpUrl = setting('an http:// or https:// address', (value) => parseUrl(value, ['http:', 'https:']));
/** Origins as browsers send them: no path, no slash at the end, no default port. */
export const origins = setting('origins such as https://app.example, separated by commas', parseOrigins);
/** For what is recognised by its hash, so that a setting need not hold it; each may have a number of bytes of its own. */
export const hashesWithBytes = setting(
  'SHA-256 hashes in hex, each alone or with a size (`<hash>:10GiB`), separated by commas or white space',
  parseHashes,
);
/** A header by its name, in lower case. */
export const headerName = setting('the name of a header', (value) =>
  /^[!#$%&'*+.^_`|~0-9a-z-]{1,100}$/i.test(value) ? value.toLowerCase() : undefined,
);
/** Texts of which one has to be met. */
export const texts = setting('texts, separated by commas', (value): ReadonlySet<string> | undefined => {
  const all = value.split(',').map((part) => part.trim());
  return all.includes('') ? undefined : new Set(all);
});
/** For what a page shows on one line. */
export const line = (max: number) =>
  setting(`one line of text, at most ${max} characters`, (value) => {
    const text = value.trim();
    return text.length <= max && !/\p{C}/u.test(text) ? text : undefined;
  });
export const color = setting('a colour such as #0b6b63', (value) =>
  /^#[0-9a-f]{6}$/i.test(value) ? value.toLowerCase() : undefined,
);
/** What a link on a page may lead to. */
export const linkTarget = setting('an https://, http:// or mailto: address', (value) =>
  parseUrl(value, ['https:', 'http:', 'mailto:']),
);
export const redisUrl = setting(
  'a redis://, redis+sentinel:// or redis+cluster:// address, or one of these with rediss',
  (value) => (parseRedisAddress(value) ? value : undefined),
);
export const postgresUrl = setting('a postgres:// address', (value) => parseUrl(value, ['postgres:', 'postgresql:']));

export function choice<const T extends string>(values: readonly T[], fallback: T, about: string): Setting<T> {
  return setting(`one of ${values.join(', ')}`, (value) => values.find((known) => known === value))(fallback, about);
}

/** A setting that may be left out: its value is then undefined. */
export function optional<T>(inner: Setting<T>): Setting<T | undefined> {
  return { ...inner, optional: true };
}

/** The text of a setting: the variable itself, or what the file named by NAME_FILE holds (mounted secrets). */
function textOf(name: string, env: NodeJS.ProcessEnv): string | undefined {
  if (env[name]) return env[name];
  const file = env[`${name}_FILE`];
  if (!file) return undefined;
  try {
    return readFileSync(file, 'utf8').trim();
  } catch (cause) {
    throw new ConfigError(`the file named by ${name}_FILE cannot be read`, { cause });
  }
}

/** Reads all settings at once. Throws one ConfigError that names every setting that is missing or bad. */
export function loadConfig<S extends Record<string, Setting<unknown>>>(settings: S, env: NodeJS.ProcessEnv): Config<S> {
  const problems: string[] = [];
  const config: Record<string, unknown> = {};
  for (const [name, { read, fallback, optional: mayBeAbsent, about }] of Object.entries(settings)) {
    try {
      const value = textOf(name, env) ?? fallback;
      if (value !== undefined) config[name] = read(value);
      else if (!mayBeAbsent) problems.push(`${name} is missing (${about})`);
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      problems.push(`${name} ${error.message}`);
    }
  }
  if (problems.length > 0) throw new ConfigError(`Bad settings: ${problems.join('; ')}.`);
  return config as Config<S>; // each value was read by the setting of its name
}
