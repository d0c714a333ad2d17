import { randomBytes, randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, test } from 'vitest';
import { MOST_OF_ITEM, type NewReport } from '../src/reports.ts';
import { noteOf, uploadOf } from './contract-ceilings.ts';
import type { OpenTables, Tables } from './tables.ts';

const NOTICE_SEC = 3_600;
const REPORT: NewReport = { kind: 'malware', text: 'It wants to be installed.' };

/** What the operator's desk promises. */
export function reportsContract(open: OpenTables) {
  describe('reports', () => {
    let { uploads, notes, requests, sessions, leases, reports, desk, blocks, advance, close } = {} as Tables;
    beforeAll(async () => {
      ({ uploads, notes, requests, sessions, leases, reports, desk, blocks, advance, close } = await open());
      return close;
    });

    async function newUpload() {
      const upload = uploadOf(100, { maxDownloads: 3 });
      await uploads.begin(upload, 60);
      await uploads.publish(upload.id);
      return upload;
    }
    const of = async (id: string) => (await desk.open(20_000)).filter(({ itemId }) => itemId === id);

    test('a report is found as it was made, with what it is about', async () => {
      const { id, authHash } = await newUpload();
      const disclosed = { enc: 'ZW5j', sealed: 'c2VhbGVk' };
      await reports.add(id, { ...REPORT, authHash, disclosed });
      await reports.add(id, { kind: 'other', text: '', authHash: randomBytes(32) });
      await reports.add(id, { kind: 'csam', text: 'nothing said of a token' });
      const [first, second, third] = await of(id);
      expect(first).toEqual({
        ...REPORT,
        disclosed,
        itemId: id,
        number: 1,
        item: 'upload',
        hadToken: true,
        at: expect.any(Date),
      });
      expect(first?.at.getTime()).toBe(new Date(first?.at ?? 0).setSeconds(0, 0));
      expect(second).toMatchObject({ number: 2, kind: 'other', text: '', hadToken: false });
      expect(second).not.toHaveProperty('disclosed');
      expect(third?.hadToken).toBeUndefined();
      expect(await desk.find(id, 1)).toEqual(first);
      expect(await desk.find(id, 4)).toBeUndefined();
    });

    test('of a hundred at once as many are kept as there may be of one item', async () => {
      const { id } = await newUpload();
      await Promise.all(Array.from({ length: 100 }, () => reports.add(id, REPORT)));
      const numbers = (await of(id)).map(({ number }) => number).sort((a, b) => a - b);
      expect(numbers).toEqual(Array.from({ length: MOST_OF_ITEM }, (_, index) => index + 1));
      await reports.add(id, { kind: 'other', text: 'the latest' });
      expect((await of(id)).map(({ text }) => text).filter((text) => text === 'the latest')).toHaveLength(1);
      expect(await desk.find(id, MOST_OF_ITEM)).toMatchObject({ kind: 'other', text: 'the latest' });
      expect(await desk.dismiss(id)).toBe(MOST_OF_ITEM);
      expect(await of(id)).toEqual([]);
      await reports.add(id, REPORT);
      expect(await of(id)).toHaveLength(1);
    });

    test('reports of what is not there are kept until the next sweep, and are nobody’s concern', async () => {
      await desk.endReports();
      for (const { itemId } of await desk.open(20_000)) await desk.dismiss(itemId);
      const unknown = randomUUID();
      await reports.add(unknown, REPORT);
      await advance(120);
      expect((await of(unknown))[0]).toMatchObject({ item: undefined, hadToken: undefined });
      expect(await desk.oldestSec()).toBe(0);
      const { id } = await newUpload();
      await reports.add(id, REPORT);
      await advance(0.01);
      expect(await desk.endReports()).toBe(1);
      expect(await of(unknown)).toEqual([]);
      expect(await of(id)).toHaveLength(1);
      expect(await desk.oldestSec()).toBeLessThan(300);
    });

    test('what is blocked is gone for everyone, its reports are closed, and what is left of it is told for a while', async () => {
      const { id, ownerHash } = await newUpload();
      const key = { id, tokenHash: randomBytes(32) };
      await leases.take(
        key,
        { first: 0, last: 9 },
        { idleSec: 60, longestSec: 600, budgetBytes: 200, cuts: 2, ranges: 8, lostBytes: 80, forgivenBytes: 160 },
      );
      await reports.add(id, REPORT);
      expect(await desk.block(id, 'malware', NOTICE_SEC)).toBe('upload');
      expect(await uploads.find(id)).toBeUndefined();
      expect(await uploads.claimDownload(id, 60)).toBe(0);
      expect(await leases.find(key)).toBeUndefined();
      expect(await of(id)).toEqual([]);
      expect(await uploads.takeDeletions(1_000)).toContain(id);
      expect(await blocks.find(id)).toMatchObject({
        item: 'upload',
        kind: 'malware',
        ownerHash,
        usedCount: 1,
        mostUses: 3,
        wholeCount: 0,
        blockedAt: expect.any(Date),
      });
      expect(await desk.block(id, 'other', NOTICE_SEC)).toBeUndefined(); // there is nothing any more
      await advance(NOTICE_SEC + 1);
      expect(await blocks.find(id)).toBeUndefined();
      expect(await desk.unblock(id)).toBe(false);
      expect(await desk.endBlocks(100)).toBe(1);
    });

    test('notes are blocked as well', async () => {
      const note = noteOf(40);
      await notes.add(note);
      expect(await desk.evidence(note.id)).toEqual({
        item: 'note',
        hasPassword: false,
        salt: note.salt,
        authHash: note.authHash,
      });
      expect(await desk.block(note.id, 'phishing', NOTICE_SEC)).toBe('note');
      expect(await notes.find(note.id)).toBeUndefined();
      expect(await notes.claimView(note.id)).toBeUndefined();
      expect(await blocks.find(note.id)).toMatchObject({ item: 'note', kind: 'phishing', usedCount: 0 });
    });

    test('requests are blocked as well, and take nothing any more', async () => {
      const request = { id: randomUUID(), ownerHash: randomBytes(32), publicKey: 'a2V5', expireSec: 3_600 };
      const limits = { maxDrops: 2, maxBytes: 1_000, dropExpireSec: 3_600, dropMaxDownloads: 1 };
      await requests.add({ ...request, ...limits });
      const drop = () => ({ uploadId: randomUUID(), enc: 'ZW5j', sealed: 'c2VhbGVk', bytes: 1 });
      await requests.drop(request.id, drop());
      expect(await desk.evidence(request.id)).toEqual({ item: 'request', hasPassword: false, publicKey: 'a2V5' });
      expect(await desk.block(request.id, 'other', NOTICE_SEC)).toBe('request');
      expect(await requests.find(request.id)).toBeUndefined();
      expect(await requests.drop(request.id, drop())).toBe('gone');
      expect(await requests.drops(request.id)).toEqual([]);
      expect(await blocks.find(request.id)).toMatchObject({ item: 'request', usedCount: 1, mostUses: 2 });
    });

    test('an upload that comes in parts is blocked in the middle, and never appears', async () => {
      const upload = uploadOf(100, { maxDownloads: 2 });
      const session = { storeRef: 'its parts', partBytes: 100, isExact: true, isAnnounced: true, sessionSec: 60 };
      await sessions.begin(upload, session);
      await sessions.record(upload.id, { number: 1, bytes: 100, tag: randomUUID() });
      expect(await sessions.seal(upload.id, 100)).toBeDefined();
      expect(await desk.block(upload.id, 'csam', NOTICE_SEC)).toBe('upload');
      expect(await sessions.find(upload.id)).toBeUndefined();
      expect(await sessions.record(upload.id, { number: 1, bytes: 100, tag: randomUUID() })).toBeUndefined();
      expect(await sessions.publish(upload.id, 100)).toBeUndefined();
      expect(await uploads.find(upload.id)).toBeUndefined();
      await advance(1);
    });

    test('of twenty who block at once one does, and the notice can be taken back', async () => {
      const { id } = await newUpload();
      const done = await Promise.all(Array.from({ length: 20 }, () => desk.block(id, 'copyright', NOTICE_SEC)));
      expect(done.filter((item) => item === 'upload')).toHaveLength(1);
      expect(await desk.unblock(id)).toBe(true);
      expect(await blocks.find(id)).toBeUndefined();
      expect(await desk.unblock(id)).toBe(false);
      expect(await uploads.find(id)).toBeUndefined(); // what was erased stays so
    });

    test('what is not there is not blocked', async () => {
      expect(await desk.block(randomUUID(), 'other', NOTICE_SEC)).toBeUndefined();
      expect(await desk.evidence(randomUUID())).toBeUndefined();
    });
  });
}
