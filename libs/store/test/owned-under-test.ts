import { query } from '@mayfly/testing/stores';
import type { Notices } from '../src/notices.ts';
import type { OwnedItems } from '../src/owned-items.ts';
import { NOTICES } from '../src/postgres/noted.ts';
import { postgresNoteNotices, postgresUploadNotices } from '../src/postgres/notices.ts';
import { postgresOwnedNotes, postgresOwnedUploads } from '../src/postgres/owned-items.ts';
import { noteOf, uploadOf } from './contract-ceilings.ts';
import type { OpenTables, Tables } from './tables.ts';

/** Uploads or notes as their owners see them, and what their recipients do. */
export type OwnedUnderTest = Pick<Tables, 'advance' | 'close'> & {
  owned: OwnedItems;
  notices: Notices;
  /** Resolves with its id. */
  create(mostUses: number, expireSec: number): Promise<string>;
  /** Resolves with whether it was granted. */
  use(id: string): Promise<boolean>;
  /** Of uploads: a use that arrives whole. */
  useWhole?: (id: string) => Promise<boolean>;
  /** The owner's delete. */
  remove(id: string): Promise<unknown>;
  /** One round of the sweep. */
  sweep(): Promise<unknown>;
  /** Makes everything that waits due. */
  hurry(): Promise<unknown>;
};

const hurried = (url: string, items: keyof typeof NOTICES) => () =>
  query(url, `update ${NOTICES[items]} set due_at = now() - interval '1 second'`);

export async function openOwnedUploads(open: OpenTables) {
  const { db, url, uploads, advance, close } = await open();
  const useAs = (isWhole: boolean) => async (id: string) => {
    if ((await uploads.claimDownload(id, 60)) === 0) return false;
    await uploads.release(id, isWhole);
    return true;
  };
  return {
    owned: postgresOwnedUploads(db),
    notices: postgresUploadNotices(db),
    async create(maxDownloads: number, expireSec: number) {
      const upload = uploadOf(10, { maxDownloads, expireSec });
      await uploads.begin(upload, 60);
      await uploads.publish(upload.id);
      return upload.id;
    },
    use: useAs(false),
    useWhole: useAs(true),
    remove: uploads.remove,
    sweep: () => uploads.retire(1_000, 3_600),
    hurry: hurried(url, 'files.uploads'),
    advance,
    close,
  };
}

export async function openOwnedNotes(open: OpenTables) {
  const { db, url, notes, advance, close } = await open();
  return {
    owned: postgresOwnedNotes(db),
    notices: postgresNoteNotices(db),
    async create(maxViews: number, expireSec: number) {
      const note = noteOf(20, { maxViews, expireSec });
      await notes.add(note);
      return note.id;
    },
    use: async (id: string) => (await notes.claimView(id)) !== undefined,
    remove: notes.remove,
    sweep: () => notes.retire(1_000, 3_600),
    hurry: hurried(url, 'notes.notes'),
    advance,
    close,
  };
}
