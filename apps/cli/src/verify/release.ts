import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { Release } from '@mayfly/vocabulary/pages';
import { CliError } from '../exit-codes.ts';

/** The text of release.json, where build.ts has put it into the bundle. */
declare const PUBLISHED_RELEASE: string | undefined;
/** Of this checkout, once its web app was built. */
const BUILT_HERE = new URL('../../../web/dist/release.json', import.meta.url);

/** A release and its name: the SHA-256, in hex, of the bytes of its release.json. */
export type NamedRelease = { release: Release; id: string; bytes: number };

/** The release that this command belongs to, or the one in a file. A version is this command's own, or an error. */
export async function findRelease(wanted?: string): Promise<NamedRelease> {
  if (wanted !== undefined && !/^\d+\.\d+\.\d+$/.test(wanted)) return parseRelease(await readRelease(wanted), wanted);
  const own = parseRelease(await ownRelease(), 'This command');
  const { version } = own.release;
  if (wanted === undefined || wanted === version) return own;
  throw new CliError(
    'usage',
    `This is the command of ${version}: use the one of ${wanted}, or --release with the release.json of ${wanted}`,
  );
}

/** The characters that people compare. */
export function shortId(id: string): string {
  return id.slice(0, 12);
}

async function ownRelease(): Promise<Buffer> {
  if (typeof PUBLISHED_RELEASE === 'string') return Buffer.from(PUBLISHED_RELEASE);
  return readFile(BUILT_HERE).catch((cause) => {
    throw new CliError('usage', 'The web app of this checkout is not built; npm start builds it', cause);
  });
}

async function readRelease(path: string): Promise<Buffer> {
  return readFile(path).catch((cause) => {
    throw new CliError('usage', `${path} cannot be read`, cause);
  });
}

function parseRelease(text: Buffer, from: string): NamedRelease {
  const id = createHash('sha256').update(text).digest('hex');
  try {
    const release: unknown = JSON.parse(text.toString());
    if (isRelease(release)) return { release, id, bytes: text.length };
  } catch {
    // Told below, like everything else that is none.
  }
  throw new CliError('usage', `${from} holds no release.json of Mayfly`);
}

function isRelease(value: unknown): value is Release {
  const { version, pages, files, headers } = Object(value) as Partial<Record<keyof Release, unknown>>;
  const isText = (text: unknown) => typeof text === 'string';
  const isFile = (file: unknown) => {
    const { sha256, bytes, type } = Object(file);
    return /^[0-9a-f]{64}$/.test(String(sha256)) && Number.isSafeInteger(bytes) && isText(type);
  };
  const paths = [...(Array.isArray(pages) ? pages : []), ...Object.keys(Object(files))];
  return (
    isText(version) &&
    paths.every((path) => isText(path) && path.startsWith('/')) &&
    Object.hasOwn(Object(files), '/') &&
    Object.values(Object(files)).every(isFile) &&
    Object.hasOwn(Object(headers), 'content-security-policy') &&
    Object.values(Object(headers)).every(isText)
  );
}
