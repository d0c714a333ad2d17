import type { ServiceConfig } from '@mayfly/client';
import { t } from '../languages/index.ts';
import { call } from '../worker/call.ts';
import type { ChosenFile } from '../worker/upload.ts';

/** Why the service would not take these files, before anything is encrypted; undefined when it would. */
export async function filesProblem(files: ChosenFile[], config: ServiceConfig): Promise<string | undefined> {
  if (files.length === 0) return undefined;
  const { uploadParts } = config;
  const { maxFileSize } = uploadParts ?? config;
  const sizeBytes = await call('measure', { files, uploadParts });
  if (sizeBytes === undefined) return t.limits.tooMany({ count: files.length });
  if (sizeBytes <= maxFileSize) return undefined;
  const [only, ...others] = files;
  return only && others.length === 0
    ? t.limits.tooLargeOne({ name: only.name, size: sizeBytes, most: maxFileSize })
    : t.limits.tooLarge({ size: sizeBytes, most: maxFileSize });
}

export function noteBytes(text: string): number {
  return new TextEncoder().encode(text).length;
}

/** The same for a note's text. */
export function noteProblem(text: string, config: ServiceConfig): string | undefined {
  const sizeBytes = noteBytes(text);
  return sizeBytes > config.noteMaxSize
    ? t.limits.noteTooLong({ size: sizeBytes, most: config.noteMaxSize })
    : undefined;
}
