import MarkdownIt, { type Token } from 'markdown-it';
import { type Element, isSafeAddress, TAGS, type Tag, type Tree, textOf } from './tree.ts';

// CommonMark with tables, strikethrough and task lists. HTML in a note is text. Nothing is loaded: an image is a link to it.

const markdown = new MarkdownIt({ html: false, linkify: true });
// Only what has a scheme is a link: a file name such as notes.md is not.
markdown.linkify.set({ fuzzyLink: false, fuzzyEmail: false });

export type CodeBlock = (code: string, language: string) => Tree[];

/** The blocks of a markdown text. `codeBlock` may colour what stands between fences. */
export function parseMarkdown(text: string, codeBlock: CodeBlock = (code) => [code]): Tree[] {
  return build(markdown.parse(text, {}), codeBlock);
}

function build(tokens: Token[], codeBlock: CodeBlock): Tree[] {
  const root: Element = { tag: 'p', children: [] };
  const open: Element[] = [root];
  for (const token of tokens) {
    const parent = open.at(-1) ?? root;
    if (token.nesting === -1) {
      if (!token.hidden) open.pop();
    } else if (token.nesting === 1) {
      if (token.hidden) continue; // the paragraphs of a tight list
      const element = openElement(token);
      parent.children.push(element);
      open.push(element);
    } else {
      const isInLink = open.some(({ tag }) => tag === 'a');
      const leaves = leaf(token, codeBlock, isInLink);
      parent.children.push(...(token.type === 'inline' ? withBox(leaves, open) : leaves));
    }
  }
  return root.children;
}

/** `[ ]` or `[x]` where an item of a list begins. */
const BOX = /^\[([ x])\](?=\s)/i;

/** The same with a box in its place: a character, since nothing in a note can be ticked. */
function withBox([first, ...others]: Tree[], open: Element[]): Tree[] {
  const item = open.findLast(({ tag }) => tag !== 'p');
  const isBeginning = item?.tag === 'li' && !item.children.some((child) => textOf(child) !== '');
  const [box, mark] = (isBeginning && typeof first === 'string' && BOX.exec(first)) || [];
  if (!item || !box || typeof first !== 'string') return first === undefined ? [] : [first, ...others];
  item.className = 'task';
  return [mark === ' ' ? '☐' : '☑', first.slice(box.length), ...others];
}

function openElement(token: Token): Element {
  const element: Element = { tag: readTag(token.tag), children: [] };
  const [href, start, style] = ['href', 'start', 'style'].map((name) => String(token.attrGet(name) ?? ''));
  if (href && isSafeAddress(href)) element.href = href;
  if (start) element.start = Number(start);
  const [, align] = /^text-align:(left|center|right)$/.exec(style ?? '') ?? [];
  if (align) element.className = `align-${align}`;
  return element;
}

function leaf(token: Token, codeBlock: CodeBlock, isInLink: boolean): Tree[] {
  switch (token.type) {
    case 'inline':
      return build(token.children ?? [], codeBlock);
    case 'softbreak':
      return ['\n'];
    case 'hardbreak':
    case 'hr':
      return [{ tag: token.tag === 'hr' ? 'hr' : 'br', children: [] }];
    case 'code_inline':
      return [{ tag: 'code', children: [token.content] }];
    case 'code_block':
    case 'fence': {
      const [language = ''] = token.info.trim().split(/\s+/);
      return [{ tag: 'pre', children: [{ tag: 'code', children: codeBlock(token.content, language) }] }];
    }
    case 'image':
      return [image(token, codeBlock, isInLink)];
    default:
      return token.content === '' ? [] : [token.content]; // text, and what a later version may add
  }
}

/** Loading it would tell another server who reads the note, and when. */
function image(token: Token, codeBlock: CodeBlock, isInLink: boolean): Tree {
  const href = String(token.attrGet('src') ?? '');
  const children = build(token.children ?? [], codeBlock);
  if (isInLink || !isSafeAddress(href)) return { tag: 'span', children };
  return { tag: 'a', href, children: children.length > 0 ? children : [href] };
}

function readTag(tag: string): Tag {
  return TAGS.find((known) => known === tag) ?? 'span';
}
