import { expect, test, vi } from 'vitest';
import { colourCode, languages } from '../src/note-formats/code.ts';
import { formatNote, type StartWorker } from '../src/note-formats/format-note.ts';
import { parseMarkdown } from '../src/note-formats/markdown.ts';
import { linkAddresses } from '../src/note-formats/text-links.ts';
import { type Element, isSafeAddress, type Tree, textOf } from '../src/note-formats/tree.ts';

const el = (tag: Element['tag'], ...children: Tree[]): Element => ({ tag, children });

test('markdown becomes elements', () => {
  const text = '# Title *x*\n\nOne\ntwo  \nthree `code`\n\n> quote\n\n---\n\n- a\n- **b**\n\n3. c\n4. ~~d~~';
  expect(parseMarkdown(text)).toEqual([
    el('h1', 'Title ', el('em', 'x')),
    el('p', 'One', '\n', 'two', el('br'), 'three ', el('code', 'code')),
    el('blockquote', el('p', 'quote')),
    el('hr'),
    el('ul', el('li', 'a'), el('li', el('strong', 'b'))),
    { ...el('ol', el('li', 'c'), el('li', el('s', 'd'))), start: 3 },
  ]);
});

test('a task list has boxes, and only where an item begins', () => {
  const box = (mark: string, ...children: Tree[]): Element => ({ ...el('li', mark, ...children), className: 'task' });
  expect(parseMarkdown('- [ ] a **b**\n- [X] c\n- d [ ] e\n- [x]f\n- `[ ] g`\n\n[ ] h')).toEqual([
    el(
      'ul',
      box('☐', ' a ', el('strong', 'b')),
      box('☑', ' c'),
      el('li', 'd [ ] e'),
      el('li', '[x]f'),
      el('li', el('code', '[ ] g')),
    ),
    el('p', '[ ] h'),
  ]);
  expect(parseMarkdown('- [ ] a\n\n- [ ] b\n\n  [ ] c').map(textOf)).toEqual(['☐ a☐ b[ ] c']);
});

test('addresses in a text become links, and nothing else in it changes', () => {
  const text =
    'https://a.example, (http://b.example/(c)) “mailto:d@e.example”. xhttps://no https:// javascript:alert(1) HTTPS://F.example/g!';
  const trees = linkAddresses(text);
  expect(trees.map(textOf).join('')).toBe(text);
  expect(links(trees)).toEqual([
    'https://a.example',
    'http://b.example/(c)',
    'mailto:d@e.example',
    'HTTPS://F.example/g',
  ]);
  expect(linkAddresses('')).toEqual([]);
});

test('a text of brackets takes no time', () => {
  const text = `https://a.example/${')'.repeat(1_000_000)}`;
  expect(links(linkAddresses(text))).toEqual(['https://a.example/']);
});

test('a table keeps the alignment of its columns', () => {
  const [table] = parseMarkdown('|a|b|\n|-|-:|\n|1|2|');
  expect(table).toEqual(
    el(
      'table',
      el('thead', el('tr', el('th', 'a'), { ...el('th', 'b'), className: 'align-right' })),
      el('tbody', el('tr', el('td', '1'), { ...el('td', '2'), className: 'align-right' })),
    ),
  );
});

test('HTML is text', () => {
  const text = '<script>alert(1)</script>\n\n<img src=x onerror=alert(1)> <b>bold</b> &lt;i&gt;';
  const trees = parseMarkdown(text);
  expect(tags(trees)).toEqual(['p', 'p']);
  expect(trees.map(textOf)).toEqual(['<script>alert(1)</script>', '<img src=x onerror=alert(1)> <b>bold</b> <i>']);
});

test.each([
  '[x](javascript:alert(1))',
  '[x](JaVaScRiPt:alert(1))',
  '[x](java\tscript:alert(1))',
  '[x](&#106;avascript:alert(1))',
  '[x](<vbscript:x>)',
  '[x](data:text/html,<script>alert(1)</script>)',
  '[x](file:///etc/passwd)',
  '[x](/n/1#2)',
  '[x](//other.example)',
  '[x](#top)',
  '<javascript:alert(1)>',
  '[x]: javascript:alert(1)\n\n[x]',
  '![x](data:image/png;base64,AAAA)',
  '![x](/local.png)',
  'notes.md and www.example.org are only names',
])('%j leads nowhere', (text) => {
  expect(links(parseMarkdown(text))).toEqual([]);
});

test('links with a whole address lead there, written out or not', () => {
  const text =
    '[a](https://a.example/x?y#z) <https://b.example> http://c.example <mailto:d@example.org> [r]\n\n[r]: https://e.example "t"';
  expect(links(parseMarkdown(text))).toEqual([
    'https://a.example/x?y#z',
    'https://b.example',
    'http://c.example',
    'mailto:d@example.org',
    'https://e.example',
  ]);
});

test('an image is a link to it, and inside a link only its description', () => {
  expect(parseMarkdown('![a *b*](https://a.example/i.png)')).toEqual([
    el('p', { ...el('a', 'a ', el('em', 'b')), href: 'https://a.example/i.png' }),
  ]);
  expect(parseMarkdown('![](https://a.example/i.png)').map(textOf)).toEqual(['https://a.example/i.png']);
  expect(parseMarkdown('[![i](https://a.example/i.png)](https://b.example)')).toEqual([
    el('p', { ...el('a', el('span', 'i')), href: 'https://b.example' }),
  ]);
});

test('code between fences may be coloured, with the language that stands there', () => {
  const codeBlock = vi.fn((code: string) => [el('span', code)]);
  const text = '```ts title\nlet a\n```\n\n    indented\n';
  expect(parseMarkdown(text, codeBlock)).toEqual([
    el('pre', el('code', el('span', 'let a\n'))),
    el('pre', el('code', el('span', 'indented\n'))),
  ]);
  expect(codeBlock.mock.calls).toEqual([
    ['let a\n', 'ts'],
    ['indented\n', ''],
  ]);
});

test.each([
  ['quotes', '>'.repeat(50_000)],
  ['lists', '- '.repeat(50_000)],
  ['brackets', '['.repeat(50_000)],
  ['stars', '*a **a '.repeat(20_000)],
  ['backticks', Array.from({ length: 500 }, (_, length) => '`'.repeat(length)).join(' ')],
  ['link starts', '[a](<b'.repeat(10_000)],
])('a note of nothing but %s ends, and not too deep', (_, text) => {
  expect(depth(parseMarkdown(text))).toBeLessThan(200);
});

test('code is marked by language, and its text is as it was', () => {
  const code = 'import os\n\ndef main(args):\n    """Doc."""\n    return [x for x in args if x is not None]\n';
  const { language, trees } = colourCode(code);
  expect(language).toBe('python');
  expect(trees.map(textOf).join('')).toBe(code);
  expect(trees).toContainEqual({ tag: 'span', className: 'hljs-keyword', children: ['import'] });
});

test('a language that the reader chose is taken, an unknown one is guessed', () => {
  const code = '{"a": 1, "b": [true, null]}';
  expect(colourCode(code, 'javascript').language).toBe('javascript');
  expect(colourCode(code, 'klingon').language).toBe(colourCode(code).language);
  expect(languages()).toContain('javascript');
});

test('text that is no code, and very long code, stays as it is', () => {
  for (const text of ['Hello', 'let a = 1;\n'.repeat(100_000)]) {
    expect(colourCode(text)).toEqual({ language: undefined, trees: [text] });
  }
});

test('only addresses of the web and of mail are safe', () => {
  for (const address of ['https://a.example', 'http://a.example', 'mailto:a@example.org']) {
    expect(isSafeAddress(address)).toBe(true);
  }
  for (const address of [
    '',
    'x',
    '/d/1',
    'javascript:1',
    ' javascript:1',
    'blob:https://a/1',
    'data:,x',
    'intent://x',
  ]) {
    expect(isSafeAddress(address)).toBe(false);
  }
});

test('a worker formats a note, and is gone afterwards', async () => {
  const answer = { language: 'css', languages: ['css'], trees: ['x'] };
  const worker = fakeWorker((self) => self.onmessage?.(new MessageEvent('message', { data: answer })));
  expect(await formatNote({ contentType: 'code', text: 'x' }, { startWorker: () => worker })).toEqual(answer);
  expect(worker.terminate).toHaveBeenCalled();
});

test.each([
  ['fails', (self: FakeWorker) => self.onerror?.(new ErrorEvent('error'))],
  ['sends what cannot be read', (self: FakeWorker) => self.onmessageerror?.(new MessageEvent('messageerror'))],
  ['does not end', () => {}],
])('when the worker %s, the note is shown as it is', async (_, act) => {
  const worker = fakeWorker(act);
  const options = { startWorker: () => worker, timeoutMs: 50 };
  expect(await formatNote({ contentType: 'markdown', text: 'x' }, options)).toBeUndefined();
  expect(worker.terminate).toHaveBeenCalled();
});

test('a worker that is not wanted any more is stopped', async () => {
  const controller = new AbortController();
  const worker = fakeWorker(() => controller.abort());
  const options = { startWorker: () => worker, signal: controller.signal };
  expect(await formatNote({ contentType: 'code', text: 'x' }, options)).toBeUndefined();
  expect(worker.terminate).toHaveBeenCalled();
});

type FakeWorker = ReturnType<StartWorker>;

function fakeWorker(act: (self: FakeWorker) => void) {
  const worker: FakeWorker = {
    onmessage: null,
    onerror: null,
    onmessageerror: null,
    postMessage: () => queueMicrotask(() => act(worker)),
    terminate: vi.fn(),
  };
  return worker;
}

function tags(trees: Tree[]): string[] {
  return trees.flatMap((tree) => (typeof tree === 'string' ? [] : [tree.tag, ...tags(tree.children)]));
}

function links(trees: Tree[]): string[] {
  return trees.flatMap((tree) =>
    typeof tree === 'string' ? [] : [...(tree.href ? [tree.href] : []), ...links(tree.children)],
  );
}

function depth(trees: Tree[]): number {
  return Math.max(0, ...trees.map((tree) => (typeof tree === 'string' ? 0 : 1 + depth(tree.children))));
}
