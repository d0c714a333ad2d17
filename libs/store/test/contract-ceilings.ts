import { randomBytes } from 'node:crypto';
import { NoRoom } from '@mayfly/shared/errors';
import { beforeAll, describe, expect, test } from 'vitest';
import type { NewNote } from '../src/notes.ts';
import type { NewUpload } from '../src/uploads.ts';
import { newItem } from './new-items.ts';
import type { OpenTables, Tables } from './tables.ts';

const MAX_BYTES = 1_000;

export const uploadOf = (sizeBytes: number, changes: Partial<NewUpload> = {}): NewUpload => ({
  ...newItem(),
  sizeBytes,
  fileCount: 1,
  maxDownloads: 1,
  ...changes,
});
export const noteOf = (length: number, changes: Partial<NewNote> = {}): NewNote => ({
  ...newItem(),
  encryptedContent: 'A'.repeat(length),
  nonce: randomBytes(12).toString('base64'),
  contentType: 'text',
  maxViews: 1,
  ...changes,
});

/** How many of these went well; every other one must have found no room. */
export async function admittedOf(calls: Promise<unknown>[]): Promise<number> {
  const answers = await Promise.allSettled(calls);
  for (const answer of answers) if (answer.status === 'rejected') expect(answer.reason).toBeInstanceOf(NoRoom);
  return answers.filter(({ status }) => status === 'fulfilled').length;
}

/** What a table of uploads with a ceiling promises. */
export function uploadCeilingContract(open: OpenTables) {
  describe('a ceiling of all uploads', () => {
    let { uploads, advance, close } = {} as Tables;
    beforeAll(async () => {
      ({ uploads, advance, close } = await open(MAX_BYTES));
      return close;
    });
    const begin = (sizeBytes: number, changes: Partial<NewUpload> = {}) => {
      const upload = uploadOf(sizeBytes, changes);
      return uploads.begin(upload, 60).then(() => upload.id);
    };
    const isFull = async () => (await admittedOf([begin(1)])) === 0;
    const settle = (...ids: string[]) => uploads.blobsDeleted(ids);
    const forget = async (...ids: string[]) => {
      for (const id of ids) await uploads.abandon(id);
      await settle(...ids);
    };

    test('of a hundred at once as many as fit are begun, to the last byte and no further', async () => {
      const many = Array.from({ length: 100 }, () => uploadOf(100));
      expect(await admittedOf(many.map((upload) => uploads.begin(upload, 60)))).toBe(10);
      expect(await isFull()).toBe(true);
      await forget(...many.map(({ id }) => id));
    });

    test('small ones fit beside one that does not', async () => {
      const ids: string[] = [];
      const begun = await admittedOf([900, 5_000, 50, 50].map(async (size) => ids.push(await begin(size))));
      expect(begun).toBe(3);
      expect(await isFull()).toBe(true);
      await forget(...ids);
    });

    test('bytes are held until the blob is deleted, and given back once', async () => {
      const id = await begin(MAX_BYTES);
      await uploads.abandon(id);
      expect(await isFull()).toBe(true);
      await Promise.all([settle(id), settle(id), settle(id)]);
      const again = await begin(MAX_BYTES);
      expect(await isFull()).toBe(true);
      await uploads.publish(again);
      await Promise.all([uploads.remove(again), uploads.remove(again)]);
      expect(await isFull()).toBe(true);
      await settle(again);
      const last = await begin(MAX_BYTES);
      expect(await isFull()).toBe(true);
      await forget(last);
    });

    test('what the sweep takes is given back, too: abandoned, used up, expired, and deleted by its owner after that', async () => {
      await uploads.begin(uploadOf(400), 0);
      const used = await begin(300);
      await uploads.publish(used);
      await uploads.claimDownload(used, 0);
      const expired = await begin(300, { expireSec: 1 });
      await uploads.publish(expired);
      await advance(1.1);
      await uploads.reapAbandoned(1_000);
      await uploads.retire(1_000, 0);
      expect(await isFull()).toBe(true);
      await uploads.remove(used);
      await uploads.endTombstones(1_000);
      expect(await isFull()).toBe(true);
      await settle(...(await uploads.takeDeletions(1_000)));
      const all = await begin(MAX_BYTES);
      expect(await isFull()).toBe(true);
      await forget(all);
    });
  });
}

/** The same for notes: the length of their contents as base64. */
export function noteCeilingContract(open: OpenTables) {
  describe('a ceiling of all notes', () => {
    let { notes, advance, close } = {} as Tables;
    beforeAll(async () => {
      ({ notes, advance, close } = await open(MAX_BYTES));
      return close;
    });

    const add = (length: number, changes: Partial<NewNote> = {}) => {
      const note = noteOf(length, changes);
      return notes.add(note).then(() => note.id);
    };
    const isFull = async () => (await admittedOf([add(4)])) === 0;

    test('of a hundred at once as many as fit are added, and a note that is removed makes room once', async () => {
      const many = Array.from({ length: 100 }, () => noteOf(100));
      expect(await admittedOf(many.map((note) => notes.add(note)))).toBe(10);
      expect(await isFull()).toBe(true);
      const removed = await Promise.all(many.flatMap(({ id }) => [notes.remove(id), notes.remove(id)]));
      expect(removed.filter(Boolean)).toHaveLength(10);
      const one = await add(MAX_BYTES);
      expect(await isFull()).toBe(true);
      await notes.remove(one);
    });

    test('what is used up or expired makes room when it is swept', async () => {
      const used = await add(500);
      await add(500, { expireSec: 1 });
      await notes.claimView(used);
      await advance(1.1);
      expect(await isFull()).toBe(true);
      expect((await notes.retire(1_000, 0)).count).toBe(2);
      const one = await add(MAX_BYTES);
      await notes.endTombstones(1_000);
      expect(await isFull()).toBe(true);
      await notes.remove(one);
    });
  });
}
