import { common, createLowlight } from 'lowlight';
import type { Tree } from './tree.ts';

const lowlight = createLowlight(common);

/** Which language it is shows in its beginning; comparing all of a long text with every language takes seconds. */
const GUESSED_FROM_CHARACTERS = 4_000;
/** Below that a guess is about as often wrong as right. */
const SURE_FROM_RELEVANCE = 4;
/** Longer texts are shown without colours. */
const COLOURED_CHARACTERS = 100_000;

export type Coloured = { language: string | undefined; trees: Tree[] };

/** The names of the languages that can be chosen. */
export function languages(): string[] {
  return lowlight.listLanguages().toSorted();
}

/** Code with its parts marked for colouring. Without a language that is known, one is guessed. */
export function colourCode(code: string, language?: string): Coloured {
  if (code.length > COLOURED_CHARACTERS) return { language: undefined, trees: [code] };
  const known = language && lowlight.registered(language) ? language : guessLanguage(code);
  if (!known) return { language: undefined, trees: [code] };
  return { language: known, trees: toTrees(lowlight.highlight(known, code).children) };
}

function guessLanguage(code: string): string | undefined {
  const { data } = lowlight.highlightAuto(code.slice(0, GUESSED_FROM_CHARACTERS));
  return data?.relevance && data.relevance >= SURE_FROM_RELEVANCE ? data.language : undefined;
}

type HastNode = ReturnType<typeof lowlight.highlight>['children'][number];

function toTrees(nodes: HastNode[]): Tree[] {
  return nodes.flatMap((node): Tree[] => {
    if (node.type === 'text') return [node.value];
    if (node.type !== 'element') return []; // lowlight makes no other
    const { className } = node.properties;
    const names = Array.isArray(className) ? className.join(' ') : '';
    return [{ tag: 'span', className: names, children: toTrees(node.children) }];
  });
}
