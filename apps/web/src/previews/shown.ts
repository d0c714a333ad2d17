import type { Kind } from './kinds.ts';
import { isPdf, mediaTypeOf, TELLING_BYTES } from './media-type.ts';
import { textOf } from './text.ts';

export type Shown = {
  /** A picture or recording is of the type that its bytes are, one of the few that are shown. */
  content: Blob;
  /** Of a text. */
  text: string | undefined;
};

/** What was read of a file, in the form in which it can be shown. Undefined when its bytes are not of that kind. */
export async function toShown(content: Blob, kind: Kind): Promise<Shown | undefined> {
  if (kind === 'text') {
    const text = textOf(new Uint8Array(await content.arrayBuffer()));
    return text === undefined ? undefined : { content, text };
  }
  const first = new Uint8Array(await content.slice(0, TELLING_BYTES).arrayBuffer());
  if (kind === 'pdf') return isPdf(first) ? { content, text: undefined } : undefined;
  const type = mediaTypeOf(first, kind);
  return type === undefined ? undefined : { content: content.slice(0, content.size, type), text: undefined };
}
