import { CliError } from './exit-codes.ts';
import { printableName } from './printable.ts';

/** Names on Windows that are devices, whatever their ending. */
const DEVICE = /^(con|prn|aux|nul|com\d|lpt\d)(\..*)?$/i;
/** What a file system takes for one part of a name, with room for a number. */
const LONGEST_BYTES = 240;

/**
 * Where a received file goes below a folder, in parts. The sender chose the name: one that leads out of the folder is
 * refused, characters that could drive a terminal or that the system does not take become `_`.
 */
export function safeEntryParts(name: string, platform = process.platform): string[] {
  const parts = name.replaceAll('\\', '/').split('/');
  if (parts.some((part) => part === '' || part === '.' || part === '..')) {
    throw new CliError('usage', `The sender named a file "${printableName(name)}", which would not stay in the folder`);
  }
  return parts.map((part) => shorten(platform === 'win32' ? forWindows(withoutControls(part)) : withoutControls(part)));
}

function withoutControls(part: string): string {
  return Array.from(part, (character) => (printableName(character) === character ? character : '_')).join('');
}

function forWindows(part: string): string {
  const taken = part.replace(/[<>:"|?*]/g, '_').replace(/[. ]$/, '_');
  return DEVICE.test(taken) ? `_${taken}` : taken;
}

/** Keeps the ending, which says what the file is. */
function shorten(part: string): string {
  if (Buffer.byteLength(part) <= LONGEST_BYTES) return part;
  const ending = /\.[^.]{1,16}$/.exec(part)?.[0] ?? '';
  let start = Array.from(part.slice(0, part.length - ending.length));
  while (Buffer.byteLength(start.join('') + ending) > LONGEST_BYTES) start = start.slice(0, -1);
  return start.join('') + ending;
}
