import type { FileEntry } from '@mayfly/client';

/** What a file can be previewed as. Everything else, HTML as a document among it, is only saved. */
export type Kind = 'image' | 'audio' | 'video' | 'text' | 'pdf';

/** So much of a file is read for a preview, and no picture, recording or PDF that is larger: it lies in memory. */
export const MOST_BYTES: Record<Kind, number> = {
  image: 32 * 1024 ** 2,
  audio: 64 * 1024 ** 2,
  video: 64 * 1024 ** 2,
  text: 1024 ** 2,
  pdf: 32 * 1024 ** 2,
};

/** Of files whose type their sender did not know, or knew as something else than text. */
const ENDINGS: Record<Kind, string[]> = {
  text: [
    ...['txt', 'md', 'markdown', 'csv', 'tsv', 'log', 'json', 'xml', 'yaml', 'yml', 'toml', 'ini', 'conf', 'env'],
    ...['html', 'htm', 'svg', 'css', 'js', 'mjs', 'ts', 'tsx', 'jsx', 'py', 'rb', 'rs', 'go', 'java', 'kt', 'c', 'h'],
    ...['cc', 'cpp', 'hpp', 'cs', 'php', 'pl', 'sh', 'sql', 'tex', 'diff', 'patch', 'srt', 'vtt', 'ics', 'vcf', 'eml'],
  ],
  image: ['png', 'jpg', 'jpeg', 'gif', 'webp', 'avif', 'bmp'],
  audio: ['mp3', 'm4a', 'aac', 'ogg', 'oga', 'opus', 'wav', 'flac', 'weba'],
  video: ['mp4', 'm4v', 'mov', 'webm', 'ogv', 'mkv'],
  pdf: ['pdf'],
};

/** Of what browsers show: to try others would be a download in vain. */
const TYPES: Record<Kind, RegExp> = {
  text: /^(text\/.*|application\/(json|xml|javascript|x-yaml|x-sh)|.*\+(json|xml))$/,
  image: /^image\/(png|apng|jpe?g|gif|webp|avif|bmp|x-ms-bmp)$/,
  audio: /^audio\/(mpeg|mp3|mp4|x-m4a|aac|ogg|opus|wav|x-wav|vnd\.wave|flac|x-flac|webm)$/,
  video: /^video\/(mp4|x-m4v|quicktime|webm|ogg|x-matroska)$/,
  pdf: /^application\/(x-)?pdf$/,
};
const KINDS = Object.keys(ENDINGS) as Kind[];

/** As its sender describes it: what it holds is looked at when it is there. Undefined when there is no preview of it. */
export function kindOf({ name, type, size }: FileEntry): Kind | undefined {
  const kind = claimedKind(name, type.toLowerCase());
  const isShown = kind === 'text' || (kind !== undefined && size <= MOST_BYTES[kind]);
  return isShown && size > 0 ? kind : undefined;
}

/** By the name and the type in small letters. */
export function claimedKind(name: string, type: string): Kind | undefined {
  const ending = /\.([^./\\]+)$/.exec(name)?.[1]?.toLowerCase() ?? '';
  const byEnding = KINDS.find((kind) => ENDINGS[kind].includes(ending));
  // Markup that holds a picture is text here, and so is a TypeScript file, which browsers call a video.
  if (byEnding === 'text') return 'text';
  const isUnknown = type === '' || type === 'application/octet-stream';
  return isUnknown ? byEnding : KINDS.find((kind) => TYPES[kind].test(type));
}
