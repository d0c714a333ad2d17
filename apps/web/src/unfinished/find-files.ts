import type { ChosenFile } from '../worker/upload.ts';
import type { Unfinished } from './unfinished-list.ts';

export type Found = {
  /** In the order of the upload. */
  files: ChosenFile[];
  /** Names of those that are not among what was found, and of those that have another size or time now. */
  missing: string[];
  changed: string[];
};

/** Which of these files the upload is made of, by name, size and time. */
export function findFiles({ upload, chosen }: Pick<Unfinished, 'upload' | 'chosen'>, among: ChosenFile[]): Found {
  const rest = [...among];
  const found: Found = { files: [], missing: [], changed: [] };
  chosen.forEach(({ name }, index) => {
    const known = upload.files[index];
    const isSame = ({ file }: ChosenFile) => file.size === known?.size && file.lastModified === known.lastModified;
    const named = rest.filter((one) => one.name === name);
    const same = named.find(isSame);
    const [file] = same ? [same] : named;
    if (!file) found.missing.push(name);
    else {
      rest.splice(rest.indexOf(file), 1);
      found.files.push(file);
      if (!same) found.changed.push(name);
    }
  });
  return found;
}

type Asking = FileSystemFileHandle & { requestPermission?(options: { mode: 'read' }): Promise<PermissionState> };

/** Those that the browser still has a way to, which it may ask about. To be called by a click. */
export async function openHandles(chosen: Unfinished['chosen']): Promise<ChosenFile[]> {
  const files: ChosenFile[] = [];
  for (const { name, handle } of chosen as { name: string; handle?: Asking }[]) {
    if (!handle) continue;
    try {
      const permission = (await handle.requestPermission?.({ mode: 'read' })) ?? 'granted';
      if (permission === 'granted') files.push({ name, file: await handle.getFile(), handle });
    } catch {
      // It was moved or removed: it has to be chosen again.
    }
  }
  return files;
}
