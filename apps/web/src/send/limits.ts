import type { ServiceConfig } from '@mayfly/client';
import { t } from '../languages/index.ts';
import { call } from '../worker/call.ts';
import type { ChosenFile } from '../worker/upload.ts';

/**
 * Why the service would not take these files, before anything is encrypted; undefined when it would. `roomBytes`: encrypted, where there
 * is another limit than the service's.
 */
export async function filesProblem(
  files: ChosenFile[],
  config: ServiceConfig,
  roomBytes = Number.POSITIVE_INFINITY,
): Promise<string | undefined> {
  if (files.length === 0) return undefined;
  const { uploadParts } = config;
  const most = Math.min((uploadParts ?? config).maxFileSize, roomBytes);
  const sizeBytes = await call('measure', { files, uploadParts });
  if (sizeBytes === undefined) return t.limits.tooMany({ count: files.length });
  if (sizeBytes <= most) return undefined;
  const [only, ...others] = files;
  return only && others.length === 0
    ? t.limits.tooLargeOne({ name: only.name, size: sizeBytes, most })
    : t.limits.tooLarge({ size: sizeBytes, most });
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
