/// <reference lib="webworker" />
import type { FormatAnswer, FormatRequest } from './format-note.ts';

// Parsing a stranger's text happens here: a text that takes for ever keeps no page from answering, and is given up.

declare const self: DedicatedWorkerGlobalScope;

self.onmessage = async ({ data }: MessageEvent<FormatRequest>) => {
  self.postMessage(await format(data));
};

async function format({ contentType, text, language }: FormatRequest): Promise<FormatAnswer> {
  const code = await import('./code.ts');
  if (contentType === 'code') return { ...code.colourCode(text, language), languages: code.languages() };
  const { parseMarkdown } = await import('./markdown.ts');
  const codeBlock = (block: string, name: string) => (name ? code.colourCode(block, name).trees : [block]);
  return { language: undefined, languages: [], trees: parseMarkdown(text, codeBlock) };
}
