import type { Kind } from './kinds.ts';

export type Media = Exclude<Kind, 'text' | 'pdf'>;
/** How a format begins: bytes in hexadecimal at an offset; and what it holds. */
type Format = { subtype: string; kinds: Media[]; at?: number; begins: string };

const SOUND_OR_VIDEO: Media[] = ['audio', 'video'];
const image = (subtype: string, begins: string, at = 0): Format => ({ subtype, kinds: ['image'], begins, at });
const audio = (subtype: string, begins: string, at = 0): Format => ({ subtype, kinds: ['audio'], begins, at });

/** No format that is a document, or that can name another address: playlists and SVG are text. The first that fits counts. */
const FORMATS: Format[] = [
  image('png', '89504e470d0a1a0a'),
  image('jpeg', 'ffd8ff'),
  image('gif', '47494638'),
  image('bmp', '424d'),
  image('webp', '57454250', 8),
  image('avif', '6674797061766966', 4),
  image('avif', '6674797061766973', 4),
  audio('wav', '57415645', 8),
  audio('flac', '664c6143'),
  audio('mpeg', '494433'),
  audio('mpeg', 'fffb'),
  audio('mpeg', 'fff3'),
  audio('mpeg', 'fff2'),
  audio('aac', 'fff1'),
  audio('aac', 'fff9'),
  { subtype: 'ogg', kinds: SOUND_OR_VIDEO, begins: '4f676753' },
  { subtype: 'webm', kinds: SOUND_OR_VIDEO, begins: '1a45dfa3' },
  { subtype: 'mp4', kinds: SOUND_OR_VIDEO, begins: '66747970', at: 4 },
];

/** So many bytes tell. */
export const TELLING_BYTES = 16;

/**
 * The MIME type to show it with, by its first bytes: one of those above, whatever its sender says. Undefined when they are not
 * of a format of this kind.
 */
export function mediaTypeOf(first: Uint8Array, kind: Media): string | undefined {
  const hex = Array.from(first.subarray(0, TELLING_BYTES), (byte) => byte.toString(16).padStart(2, '0')).join('');
  const found = FORMATS.find(({ begins, at = 0 }) => hex.startsWith(begins, at * 2));
  return found?.kinds.includes(kind) ? `${kind}/${found.subtype}` : undefined;
}

/** Nothing may come before it, although some programs would still open the file: what begins as HTML is none. */
export function isPdf(first: Uint8Array): boolean {
  return new TextDecoder('latin1').decode(first).startsWith('%PDF-');
}
