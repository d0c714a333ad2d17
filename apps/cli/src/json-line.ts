// What a terminal may act on, and what turns the direction of writing: JSON.stringify leaves these as they are.
const UNSAFE = /[\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** One line of JSON that is safe to look at in a terminal, whoever wrote what is in it. */
export function jsonLine(value: unknown): string {
  const text = JSON.stringify(value).replace(
    UNSAFE,
    (mark) => `\\u${mark.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
  return `${text}\n`;
}
