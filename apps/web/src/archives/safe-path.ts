import { pathParts, visibleName } from './entries.ts';

/** Not allowed in a name by one system or another. */
const FORBIDDEN = /[<>:"|?*\u25a1]/g;
/** Devices of Windows, with or without an ending. */
const RESERVED = /^(?:con|prn|aux|nul|com\d|lpt\d)(?=\.|$)/i;
const LONGEST_CHARACTERS = 120;

/**
 * Folders and file name under which an entry may be saved on any system, inside the folder that was chosen and nowhere
 * else. Never empty.
 */
export function safePath(name: string): string[] {
  const parts = pathParts(name).map(safeName);
  return parts.length > 0 ? parts : ['file'];
}

function safeName(part: string): string {
  const name = visibleName(part.normalize('NFC'))
    .replace(FORBIDDEN, '_')
    .replace(/^\s+|[\s.]+$/g, '');
  const ending = /\.[^.]{1,12}$/.exec(name)?.[0] ?? '';
  const stem = name.slice(0, name.length - ending.length).slice(0, LONGEST_CHARACTERS - ending.length);
  return `${stem}${ending}`.replace(RESERVED, (device) => `_${device}`) || 'file';
}

/** Another name for a second file: `a.txt`, `a (2).txt`. */
export function numbered(name: string, number: number): string {
  return number < 2 ? name : name.replace(/((?<=.)\.[^.]+)?$/, (ending) => ` (${number})${ending}`);
}
