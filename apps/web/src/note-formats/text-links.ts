import { isSafeAddress, type Tree } from './tree.ts';

// A text note is shown as it was typed, to the letter; addresses with a scheme in it can be followed.

/** Up to the next blank, and nothing that stands around an address rather than in it. */
const ADDRESS = /(?<![\p{L}\p{N}])(?:https?:\/\/|mailto:)[^\s<>"“”„«»`]+/giu;
/** What ends a sentence or closes what an address stands in. */
const AFTERWARDS = ".,;:!?'’*_~…]}";

/** The text as it is, with links where addresses stand. */
export function linkAddresses(text: string): Tree[] {
  const trees: Tree[] = [];
  let end = 0;
  for (const { 0: found, index } of text.matchAll(ADDRESS)) {
    const href = found.slice(0, lengthOf(found));
    if (!isSafeAddress(href)) continue;
    if (index > end) trees.push(text.slice(end, index));
    trees.push({ tag: 'a', href, children: [href] });
    end = index + href.length;
  }
  if (end < text.length) trees.push(text.slice(end));
  return trees;
}

/** Without what stands behind the address. A bracket belongs to it when it was opened in it. */
function lengthOf(address: string): number {
  let unopened = address.split(')').length - address.split('(').length;
  let length = address.length;
  for (; length > 0; length -= 1) {
    const last = address[length - 1] ?? '';
    if (last === ')' && unopened > 0) unopened -= 1;
    else if (!AFTERWARDS.includes(last)) break;
  }
  return length;
}
