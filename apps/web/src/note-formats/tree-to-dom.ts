import { isSafeAddress, TAGS, type Tree } from './tree.ts';

/** Deeper than any honest text nests, and shallow enough for every browser. */
const DEEPEST = 200;

/** Nodes for a page, one by one: no text is ever parsed as HTML. What is not in the list of tags becomes its text. */
export function toDom(trees: Tree[], document: Document): DocumentFragment {
  const fragment = document.createDocumentFragment();
  fragment.append(...trees.map((tree) => toNode(tree, document, 0)));
  return fragment;
}

function toNode(tree: Tree, document: Document, depth: number): Node {
  if (typeof tree === 'string') return document.createTextNode(tree);
  const { tag, children, href, className, start } = tree;
  // A tree comes from a worker that has read a stranger's text: nothing is taken for granted.
  const element = document.createElement(TAGS.includes(tag) && depth < DEEPEST ? tag : 'span');
  if (className && /^[\w -]+$/.test(className)) element.className = className;
  if (start !== undefined && element instanceof HTMLOListElement) element.start = start;
  if (href && isSafeAddress(href) && element instanceof HTMLAnchorElement) {
    element.href = href;
    element.target = '_blank';
    element.rel = 'noopener noreferrer nofollow';
    element.referrerPolicy = 'no-referrer';
    element.title = href;
  }
  element.append(...children.map((child) => toNode(child, document, depth + 1)));
  return element;
}
