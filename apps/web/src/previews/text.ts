/** By the mark that it begins with; without one it is UTF-8, or what Windows wrote before. */
const MARKS: [encoding: string, mark: number[]][] = [
  ['utf-16le', [0xff, 0xfe]],
  ['utf-16be', [0xfe, 0xff]],
];

/** The bytes of a text file as text, also when they end in the middle of a character. Undefined when they are no text. */
export function textOf(bytes: Uint8Array): string | undefined {
  const [marked] = MARKS.find(([, mark]) => mark.every((byte, index) => bytes[index] === byte)) ?? [];
  if (marked) return new TextDecoder(marked).decode(bytes, { stream: true });
  if (bytes.includes(0)) return undefined;
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes, { stream: true });
  } catch {
    return new TextDecoder('windows-1252').decode(bytes);
  }
}
