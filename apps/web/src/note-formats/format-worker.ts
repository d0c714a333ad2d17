import type { FormatAnswer, FormatRequest } from './format-note.ts';

// Parsing a stranger's text happens here: a text that takes for ever keeps no page from answering, and is given up.

/** As much of a worker's global scope as is used: the app is checked with a page's types. */
type Scope = {
  onmessage: (event: { data: FormatRequest }) => void;
  postMessage(answer: FormatAnswer | undefined): void;
};

const scope = globalThis as unknown as Scope;

scope.onmessage = async ({ data }) => {
  // Undefined has the note shown as it is, whatever it was that could not be parsed.
  scope.postMessage(await format(data).catch(() => undefined));
};

/** Where code begins that says its language. */
const FENCE = /^[\s>*+-]*(?:```+|~~~+)\s*[\w#+-]/m;

async function format({ contentType, text, language }: FormatRequest): Promise<FormatAnswer> {
  if (contentType === 'code') {
    const { colourCode, languages } = await import('./code.ts');
    return { ...colourCode(text, language), languages: languages() };
  }
  const { parseMarkdown } = await import('./markdown.ts');
  // Most notes have no code, and need not wait for all languages.
  const code = FENCE.test(text) ? await import('./code.ts') : undefined;
  const codeBlock = (block: string, name: string) => (name && code?.colourCode(block, name).trees) || [block];
  return { language: undefined, languages: [], trees: parseMarkdown(text, codeBlock) };
}
