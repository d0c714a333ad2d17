import { describe, expect, test } from 'vitest';
import { fromBase64, toBase64, toBase64url } from '../src/bytes.ts';
import { getNotice, getReporting } from '../src/notice.ts';
import { newOperatorKeys, openDisclosure, sealDisclosure } from '../src/reports.ts';
import type { Transport } from '../src/transport.ts';

const ID = '5b1f3f7e-52a7-4a3c-9f2e-1f1d7f0a2b3c';
const OTHER = '6b1f3f7e-52a7-4a3c-9f2e-1f1d7f0a2b3c';
const FRAGMENT = 'Zm9v'.repeat(12);

describe('what is disclosed', () => {
  test('is opened with the private key, for that item, and is always of one length', async () => {
    const { publicKey, privateKey } = await newOperatorKeys();
    const [long, short] = [await sealDisclosure(publicKey, ID, FRAGMENT), await sealDisclosure(publicKey, ID, 'x')];
    expect(await openDisclosure(privateKey, ID, long)).toBe(FRAGMENT);
    expect(await openDisclosure(privateKey, ID, short)).toBe('x');
    expect([long.sealed.length, long.enc.length]).toEqual([short.sealed.length, short.enc.length]);
    expect(fromBase64(long.sealed)).toHaveLength(80);
    expect(fromBase64(long.enc)).toHaveLength(1_121);
    const again = await sealDisclosure(publicKey, ID, FRAGMENT);
    expect(again.enc).not.toBe(long.enc);
  });

  test('is not opened for another item, with another key, or when it was changed', async () => {
    const { publicKey, privateKey } = await newOperatorKeys();
    const box = await sealDisclosure(publicKey, ID, FRAGMENT);
    const code = (promise: Promise<unknown>) => promise.then(() => 'opened').catch((error) => error.code);
    const flipped = (text: string, at: number) => {
      const bytes = fromBase64(text) ?? new Uint8Array();
      bytes[at] = (bytes[at] ?? 0) ^ 1;
      return toBase64(bytes);
    };
    expect(await code(openDisclosure(privateKey, OTHER, box))).toBe('tampered');
    expect(await code(openDisclosure((await newOperatorKeys()).privateKey, ID, box))).toBe('tampered');
    expect(await code(openDisclosure(privateKey, ID, { ...box, sealed: flipped(box.sealed, 3) }))).toBe('tampered');
    expect(await code(openDisclosure(privateKey, ID, { ...box, enc: flipped(box.enc, 700) }))).toBe('tampered');
    expect(await code(openDisclosure(privateKey, ID, { ...box, enc: flipped(box.enc, 0) }))).toBe('newer-format');
    expect(await code(openDisclosure(privateKey, ID, { ...box, enc: 'AQ==' }))).toBe('tampered');
    expect(await code(openDisclosure('no key', ID, box))).toBe('tampered');
  });

  test.each(['', 'AAAA', toBase64url(new Uint8Array(1_215))])(
    'is sealed to nothing that is no public key: %s',
    async (publicKey) => {
      await expect(sealDisclosure(publicKey, ID, FRAGMENT)).rejects.toMatchObject({ code: 'bad-answer' });
    },
  );

  test('is never longer than a link’s fragment', async () => {
    const { publicKey } = await newOperatorKeys();
    await expect(sealDisclosure(publicKey, ID, 'x'.repeat(65))).rejects.toMatchObject({ code: 'damaged-link' });
  });
});

describe('a hostile service', () => {
  const answering = (status: number, body: unknown): Transport => ({
    send: async () => {
      const { body: stream } = new Response(JSON.stringify(body));
      return { status, header: () => undefined, body: stream } as never; // as a transport's answer is read
    },
  });
  const at = { baseUrl: 'https://mayfly.example', id: ID };

  test.each([
    ['no kind', { blockedAt: '2026-01-02T03:04:05.678Z' }],
    ['a kind that is none', { kind: '<b>', blockedAt: '2026-01-02T03:04:05.678Z' }],
    ['no time', { kind: 'malware', blockedAt: 'yesterday' }],
  ])('tells no notice with %s', async (_, body) => {
    await expect(getNotice({ transport: answering(200, body) }, at)).rejects.toMatchObject({ code: 'bad-answer' });
  });

  test('says what is so: a notice, none, and how something can be reported', async () => {
    const notice = { kind: 'malware', blockedAt: '2026-01-02T03:04:05.678Z' };
    expect(await getNotice({ transport: answering(200, notice) }, at)).toEqual(notice);
    expect(await getNotice({ transport: answering(404, { error: 'Not Found' }) }, at)).toBeUndefined();
    expect(await getReporting({ transport: answering(200, {}) }, at)).toBeUndefined();
    expect(await getReporting({ transport: answering(200, { reports: {} }) }, at)).toEqual({});
    await expect(getReporting({ transport: answering(200, { reports: { publicKey: 1 } }) }, at)).rejects.toMatchObject({
      code: 'bad-answer',
    });
  });
});
