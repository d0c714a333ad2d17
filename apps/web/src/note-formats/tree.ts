// What a note's text becomes before it is on the page: plain data, so that a worker can make it, and so that nothing in a
// note can become more than what is listed here.

export const TAGS = [
  'a',
  'blockquote',
  'br',
  'code',
  'em',
  'h1',
  'h2',
  'h3',
  'h4',
  'h5',
  'h6',
  'hr',
  'li',
  'ol',
  'p',
  'pre',
  's',
  'span',
  'strong',
  'table',
  'tbody',
  'td',
  'th',
  'thead',
  'tr',
  'ul',
] as const;

export type Tag = (typeof TAGS)[number];

export type Element = {
  tag: Tag;
  children: Tree[];
  /** Of a link: an absolute address that `isSafeAddress` lets through. */
  href?: string;
  /** Names of colours for code, alignment of table cells. */
  className?: string;
  /** The first number of a list. */
  start?: number;
};

export type Tree = string | Element;

/** Links lead to other pages or to a mail program, never to a script, to a file or back to this service's own pages. */
export function isSafeAddress(href: string): boolean {
  return ['http:', 'https:', 'mailto:'].includes(URL.parse(href)?.protocol ?? '');
}

/** All the text in a tree. */
export function textOf(tree: Tree): string {
  return typeof tree === 'string' ? tree : tree.children.map(textOf).join('');
}
