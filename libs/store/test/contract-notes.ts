import { randomBytes, randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, test } from 'vitest';
import type { NewNote } from '../src/notes.ts';
import { newItem } from './new-items.ts';
import type { OpenTables, Tables } from './tables.ts';

const newNote = (changes: Partial<NewNote> = {}): NewNote => ({
  ...newItem(),
  encryptedContent: randomBytes(300).toString('base64'),
  nonce: randomBytes(12).toString('base64'),
  contentType: 'markdown',
  maxViews: 2,
  ...changes,
});

/** What a table of notes promises. */
export function notesContract(open: OpenTables) {
  describe('notes', () => {
    let { notes, advance, close } = {} as Tables;
    beforeAll(async () => {
      ({ notes, advance, close } = await open());
      return close;
    });

    const add = async (changes: Partial<NewNote> = {}) => {
      const note = newNote(changes);
      return { ...note, ...(await notes.add(note)) };
    };

    test('a note is found without its content', async () => {
      const { encryptedContent, nonce, expireSec, ...note } = await add({
        password: { algo: 'pbkdf2', salt: 'c2FsdA' },
      });
      const found = await notes.find(note.id);
      expect(found).toMatchObject({ ...note, status: 'available', viewCount: 0 });
      expect(JSON.stringify(found)).not.toContain(encryptedContent);
      if (found?.status !== 'available') throw new Error('not available');
      expect(found.expiresAt.getTime() - found.createdAt.getTime()).toBe(expireSec * 1000);
    });

    test('a large note is found with its length, and its views return the content', async () => {
      const { id, encryptedContent } = await add({ encryptedContent: 'A'.repeat(1_000_000) });
      const found = await notes.find(id);
      if (found?.status !== 'available') throw new Error('not available');
      expect(found.contentLength).toBe(encryptedContent.length);
      for (const repeat of [undefined, newKey()]) {
        expect((await notes.claimView(id, repeat))?.encryptedContent).toBe(encryptedContent);
      }
      expect(await notes.claimView(id)).toBeUndefined();
    });

    test('a view returns the content and the new count', async () => {
      const { id, encryptedContent, nonce } = await add();
      expect(await notes.claimView(id)).toEqual({ encryptedContent, nonce, viewCount: 1, maxViews: 2 });
      expect(await notes.claimView(id)).toEqual({ encryptedContent, nonce, viewCount: 2, maxViews: 2 });
      expect(await notes.claimView(id)).toBeUndefined();
      expect(await notes.find(id)).toMatchObject({ status: 'limit_reached', hasPassword: false });
    });

    test.each([1, 2, 5])(
      'of twenty views at once on a %i-view note exactly 1..N succeed, with the content',
      async (limit) => {
        const { id, encryptedContent } = await add({ maxViews: limit });
        const views = (await Promise.all(Array.from({ length: 20 }, () => notes.claimView(id)))).filter(
          (v) => v !== undefined,
        );
        expect(views.map((view) => view.viewCount).sort()).toEqual(Array.from({ length: limit }, (_, i) => i + 1));
        expect(views.every((view) => view.encryptedContent === encryptedContent)).toBe(true);
      },
    );

    test('a view with the token of a small note counts in one step, and in every other case nothing does', async () => {
      const { id, authHash, encryptedContent, nonce } = await add();
      const large = await add({ encryptedContent: 'A'.repeat(20_000) });
      const expired = await add({ expireSec: 1 });
      const view = { encryptedContent, nonce, maxViews: 2 };
      expect(await notes.claimSmallView(id, randomBytes(32))).toBeUndefined();
      expect(await notes.claimSmallView(large.id, large.authHash)).toBeUndefined();
      expect(await notes.claimSmallView(randomUUID(), authHash)).toBeUndefined();
      expect(await notes.claimSmallView(id, authHash)).toEqual({ ...view, viewCount: 1 });
      expect(await notes.claimSmallView(id, authHash)).toEqual({ ...view, viewCount: 2 });
      expect(await notes.claimSmallView(id, authHash)).toBeUndefined();
      await advance(1.1);
      expect(await notes.claimSmallView(expired.id, expired.authHash)).toBeUndefined();
      expect(await notes.claimView(large.id)).toMatchObject({ viewCount: 1 });
    });

    test('right and wrong tokens at once: the right ones get every view, and the wrong ones none', async () => {
      const { id, authHash, encryptedContent } = await add({ maxViews: 5 });
      const calls = Array.from({ length: 20 }, (_, i) => (i % 2 === 0 ? randomBytes(32) : authHash));
      const views = await Promise.all(calls.map((hash) => notes.claimSmallView(id, hash)));
      expect(views.filter((_, i) => i % 2 === 0).every((view) => view === undefined)).toBe(true);
      const seen = views.filter((view) => view !== undefined);
      expect(seen.map(({ viewCount }) => viewCount).sort()).toEqual([1, 2, 3, 4, 5]);
      expect(seen.every((view) => view.encryptedContent === encryptedContent)).toBe(true);
    });

    test('a view with the token and a key counts once for both', async () => {
      const { id, authHash } = await add();
      const key = newKey();
      const wrong = notes.claimSmallView(id, randomBytes(32), key); // in the same statement, where they are gathered
      expect(await notes.claimSmallView(id, authHash, key)).toMatchObject({ viewCount: 1, isRepeat: false });
      expect(await wrong).toBeUndefined();
      expect(await notes.claimSmallView(id, randomBytes(32), key)).toBeUndefined();
      expect(await notes.claimSmallView(id, authHash, key)).toMatchObject({ viewCount: 1, isRepeat: true });
      expect(await notes.claimView(id, key)).toMatchObject({ viewCount: 1, isRepeat: true });
      expect(await notes.claimSmallView(id, authHash)).toMatchObject({ viewCount: 2 });
      expect(await notes.claimSmallView(id, authHash, key)).toMatchObject({ viewCount: 1, isRepeat: true });
      expect(await notes.claimSmallView(id, authHash, newKey())).toBeUndefined();
      const large = await add({ encryptedContent: 'A'.repeat(20_000) });
      expect(await notes.claimSmallView(large.id, large.authHash, newKey())).toBeUndefined();
      expect(await notes.claimView(large.id)).toMatchObject({ viewCount: 1 });
    });

    const newKey = (forSec = 2) => ({ keyHash: randomBytes(32), forSec });

    test('a view with a key counts once, and can be repeated when no view is left', async () => {
      const { id, authHash, encryptedContent, nonce } = await add();
      const view = (viewCount: number, isRepeat: boolean) => ({
        encryptedContent,
        nonce,
        viewCount,
        maxViews: 2,
        isRepeat,
      });
      const key = newKey();
      expect(await notes.claimView(id, key)).toEqual(view(1, false));
      expect(await notes.claimView(id, key)).toEqual(view(1, true));
      expect(await notes.claimView(id)).toEqual({ encryptedContent, nonce, viewCount: 2, maxViews: 2 });
      expect(await notes.claimView(id, key)).toEqual(view(1, true));
      expect(await notes.claimView(id, newKey())).toBeUndefined();
      expect(await notes.claimView(id)).toBeUndefined();
      expect(await notes.find(id)).toMatchObject({ status: 'limit_reached', authHash });
    });

    test('a key is forgotten when its time is over: it counts anew while a view is left', async () => {
      const left = await add();
      const used = await add({ maxViews: 1 });
      const key = newKey(1);
      for (const { id } of [left, used]) expect(await notes.claimView(id, key)).toMatchObject({ viewCount: 1 });
      await advance(1.1);
      expect(await notes.claimView(left.id, key)).toMatchObject({ viewCount: 2, isRepeat: false });
      expect(await notes.claimView(used.id, key)).toBeUndefined();
      expect(await notes.find(used.id)).not.toHaveProperty('authHash');
    });

    test('nothing is repeated when the time of the note is over, nor when it is deleted', async () => {
      const old = await add({ maxViews: 1, expireSec: 30 });
      const deleted = await add({ maxViews: 1 });
      const key = newKey(60);
      for (const { id } of [old, deleted]) await notes.claimView(id, key);
      await notes.remove(deleted.id);
      expect(await notes.claimView(deleted.id, key)).toBeUndefined();
      await advance(30.1);
      expect(await notes.claimView(old.id, key)).toBeUndefined();
    });

    test('the sweep leaves a note alone while a view of it can be repeated', async () => {
      const { id } = await add({ maxViews: 1 });
      const key = newKey(5);
      await notes.claimView(id, key);
      await notes.retire(1000, 60);
      expect(await notes.claimView(id, key)).toMatchObject({ viewCount: 1 });
      await advance(5.1);
      await notes.retire(1000, 60);
      expect(await notes.claimView(id, key)).toBeUndefined();
      expect(await notes.find(id)).toMatchObject({ status: 'limit_reached' });
    });

    test('an expired note is gone for everyone but its owner', async () => {
      const { id, ownerHash } = await add({ expireSec: 1 });
      await advance(1.1);
      expect(await notes.find(id)).toEqual({ id, status: 'expired', ownerHash, hasPassword: false });
      expect(await notes.claimView(id)).toBeUndefined();
      expect(await notes.remove(id)).toBe(true);
      expect(await notes.remove(id)).toBe(false);
    });

    test('the sweep leaves a tombstone with the reason, then nothing', async () => {
      const expired = await add({ expireSec: 1 });
      const used = await add({ maxViews: 1 });
      const alive = await add();
      await notes.claimView(used.id);
      await advance(1.1);
      const retired = await notes.retire(1000, 1);
      expect(retired.count).toBeGreaterThanOrEqual(2);
      expect(retired.unused).toBeGreaterThanOrEqual(1);
      expect(await notes.find(expired.id)).toMatchObject({ status: 'expired' });
      expect(await notes.find(used.id)).toMatchObject({ status: 'limit_reached' });
      expect(await notes.find(alive.id)).toMatchObject({ status: 'available' });
      await advance(1.1);
      expect(await notes.endTombstones(1000)).toBeGreaterThanOrEqual(2);
      expect(await notes.find(expired.id)).toBeUndefined();
      expect(await notes.find(used.id)).toBeUndefined();
    });
  });
}
