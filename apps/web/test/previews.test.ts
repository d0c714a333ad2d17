import { expect, test } from 'vitest';
import { kindOf } from '../src/previews/kinds.ts';
import { isPdf, mediaTypeOf } from '../src/previews/media-type.ts';
import { scaleOf } from '../src/previews/pdf/page-size.ts';
import { textOf } from '../src/previews/text.ts';

const MIB = 1024 ** 2;

test.each([
  ['a.png', 'image/png', 'image'],
  ['a', 'image/webp', 'image'],
  ['a.JPG', '', 'image'],
  ['song.mp3', 'application/octet-stream', 'audio'],
  ['a.mov', 'video/quicktime', 'video'],
  ['notes', 'text/plain', 'text'],
  ['data.json', 'application/json', 'text'],
  ['code.ts', 'video/mp2t', 'text'],
  ['page.html', 'text/html', 'text'],
  ['drawing.svg', 'image/svg+xml', 'text'],
  ['drawing', 'image/svg+xml', 'text'],
  ['drawing.svg', 'image/png', 'text'],
  ['page', 'application/xhtml+xml', 'text'],
  ['paper.pdf', 'application/pdf', 'pdf'],
  ['paper', 'application/x-pdf', 'pdf'],
  ['paper.PDF', '', 'pdf'],
  ['paper.pdf', 'application/zip', undefined],
  ['page.html', 'application/pdf', 'text'],
  ['a.png', 'application/zip', undefined],
  ['a.heic', 'image/heic', undefined],
  ['a.m3u8', 'application/vnd.apple.mpegurl', undefined],
  ['program.exe', '', undefined],
  ['png', '', undefined],
] as const)('%s, called %j by its sender, is previewed as %s', (name, type, kind) => {
  expect(kindOf({ name, type, size: 10 })).toBe(kind);
});

test('large pictures and recordings are only saved, and nothing is to be seen of an empty file', () => {
  const kind = (type: string, size: number) => kindOf({ name: 'a', type, size });
  expect([kind('image/png', 32 * MIB), kind('image/png', 32 * MIB + 1)]).toEqual(['image', undefined]);
  expect([kind('video/mp4', 64 * MIB), kind('video/mp4', 64 * MIB + 1)]).toEqual(['video', undefined]);
  const pdf = 'application/pdf';
  expect([kind(pdf, 32 * MIB), kind(pdf, 32 * MIB + 1), kind(pdf, 0)]).toEqual(['pdf', undefined, undefined]);
  expect([kind('text/plain', 1024 * MIB), kind('text/plain', 0)]).toEqual(['text', undefined]);
});

const bytes = (text: string) => Uint8Array.from(text, (character) => character.charCodeAt(0));

test.each([
  ['\x89PNG\r\n\x1a\n....', 'image', 'image/png'],
  ['\xff\xd8\xff\xe0....', 'image', 'image/jpeg'],
  ['GIF89a....', 'image', 'image/gif'],
  ['RIFF\0\0\0\0WEBPVP8 ', 'image', 'image/webp'],
  ['\0\0\0\x20ftypavif', 'image', 'image/avif'],
  ['RIFF\0\0\0\0WAVEfmt ', 'audio', 'audio/wav'],
  ['ID3\x04', 'audio', 'audio/mpeg'],
  ['OggS\0', 'audio', 'audio/ogg'],
  ['\x1a\x45\xdf\xa3', 'audio', 'audio/webm'],
  ['\x1a\x45\xdf\xa3', 'video', 'video/webm'],
  ['\0\0\0\x20ftypisom', 'video', 'video/mp4'],
  ['\0\0\0\x20ftypavif', 'video', undefined],
  ['ID3\x04', 'image', undefined],
  ['#EXTM3U\nhttps://elsewhere.example/', 'video', undefined],
  ['<svg xmlns="http://www.w3.org/2000/svg">', 'image', undefined],
  ['<!doctype html><script>', 'image', undefined],
  ['%PDF-1.7', 'image', undefined],
  ['', 'image', undefined],
] as const)('what begins with %j and should be of kind %s is shown as %s', (first, kind, type) => {
  expect(mediaTypeOf(bytes(first), kind)).toBe(type);
});

test.each([
  ['%PDF-1.7\n', true],
  [' %PDF-1.7', false],
  ['<!doctype html><!--%PDF-1.7', false],
  ['%PDF', false],
  ['', false],
] as const)('what begins with %j is a PDF: %s', (first, expected) => {
  expect(isPdf(bytes(first))).toBe(expected);
});

test.each([
  [595, 842],
  [14_400, 14_400],
  [1, 14_400],
  [14_400, 1],
])('a page of %i × %i points is as wide as the place for it, if a canvas can be so large', (width, height) => {
  const scale = scaleOf(width, height, 900);
  expect(width * scale).toBeLessThanOrEqual(900);
  expect(width * scale * height * scale).toBeLessThanOrEqual(8_000_001);
  expect(Math.max(width, height) * scale).toBeLessThanOrEqual(8_193);
  if (width === 595) expect(width * scale).toBe(900);
});

test('text is read in the encoding that it has', () => {
  const utf8 = new TextEncoder().encode('Grüße 👍');
  expect(textOf(utf8)).toBe('Grüße 👍');
  expect(textOf(utf8.subarray(0, -1))).toBe('Grüße ');
  expect(textOf(bytes('\xef\xbb\xbfmarked'))).toBe('marked');
  expect(textOf(bytes('\xff\xfeh\0i\0'))).toBe('hi');
  expect(textOf(bytes('Gr\xfc\xdfe'))).toBe('Grüße');
  expect(textOf(bytes('\x7fELF\0\0'))).toBeUndefined();
});
