// Control characters but for tab and line feed, and the marks that turn the direction of what follows: a name or a note
// made of them could rewrite the screen or look like another name.
const UNSAFE = /(?![\t\n])[\p{Cc}\u202a-\u202e\u2066-\u2069]/gu;

/** Text that somebody else wrote, for a terminal: what could drive it is shown as its code. */
export function printable(text: string): string {
  return text.replace(UNSAFE, (character) => `\\u{${character.charCodeAt(0).toString(16)}}`);
}

/** The same for a name that has one line. */
export function printableName(name: string): string {
  return printable(name).replaceAll('\n', '\\n').replaceAll('\t', '\\t');
}
