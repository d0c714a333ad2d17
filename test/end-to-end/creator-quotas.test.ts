import { createHash, randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { openSocket, requestHead, untilTrue } from '@mayfly/testing/wire';
import { expect, test } from 'vitest';
import { type Api, call, noteBody, token, uploadHeaders } from '../support/api.ts';
import { describeEachShape, type ShapeUnderTest } from '../support/each-shape.ts';
import { PART, PartsApi } from '../support/parts.ts';
import { RequestsApi, requestBody } from '../support/requests.ts';

const hashOf = (key: string) => createHash('sha256').update(key).digest('hex');
const newKeys = (count: number) => Array.from({ length: count }, () => `mfk_${token()}`);
const EXCEEDED = { error: 'Upload quota exceeded' };
const QUOTA = 100_000;

/** A client that comes from another address each time. */
let addresses = 0;
const fromAnywhere = () => {
  addresses += 1;
  return { 'X-Forwarded-For': `10.1.${addresses >> 8}.${addresses & 0xff}` };
};
const tokens = () => ({ authToken: token(), ownerToken: token() });
const bearer = (key: string) => ({ Authorization: `Bearer ${key}` });
const send = (api: Api, bytes: number, headers: Record<string, string | undefined>) =>
  api.upload(Buffer.alloc(bytes), uploadHeaders(tokens(), { ...fromAnywhere(), ...headers }));
const statusesOf = (answers: { status: number }[]) => answers.map(({ status }) => status).sort();

/** Whether so many bytes are still there, without using them up. */
async function hasLeft({ api }: ShapeUnderTest, bytes: number, who: Record<string, string>): Promise<boolean> {
  const { authToken, ownerToken } = tokens();
  const length = { 'X-Upload-Length': String(bytes), 'X-Part-Bytes': String(PART) };
  const parts = new PartsApi(api);
  const answer = await parts.begin(uploadHeaders({ authToken, ownerToken }, { ...length, ...fromAnywhere(), ...who }));
  if (answer.status === 201) expect((await parts.cancel(String(answer.body.id), ownerToken)).status).toBe(200);
  else expect([answer.status, answer.body]).toEqual([429, EXCEEDED]);
  return answer.status === 201;
}

/** Whether all but so many are there: what is given back may come a moment after the answer. */
async function isUsed(service: ShapeUnderTest, bytes: number, who: Record<string, string>, quota = QUOTA) {
  await untilTrue(() => hasLeft(service, quota - bytes, who));
  await untilTrue(async () => !(await hasLeft(service, quota - bytes + 1, who)));
}

const KEYS = newKeys(9);
const [RICH = '', FREE = ''] = newKeys(2);
const who = (index: number) => bearer(KEYS[index] ?? '');

describeEachShape(
  'what each key may upload in a day',
  {
    CREATE_GUARD: 'key',
    CREATE_KEYS: [...KEYS.map(hashOf), `${hashOf(RICH)}:150000`, `${hashOf(FREE).toUpperCase()}:0`].join('\n'),
    CREATE_QUOTA_BYTES: String(QUOTA),
    UPLOAD_QUOTA_BYTES: '450000',
    MAX_FILE_SIZE: '150000',
    TRUST_PROXY: '1',
  },
  (service) => {
    const inTurn = (index: number) => service.replicas[index % service.replicas.length] ?? service.api;

    test('counts over all addresses and replicas, and is 429 above it until midnight; another key has its own', async () => {
      const [key, other] = [who(0), who(1)];
      const answers = [];
      for (let i = 0; i < 3; i++) answers.push(await send(inTurn(i), 40_000, key));
      expect(answers.map(({ status }) => status)).toEqual([200, 200, 429]);
      expect(answers[2]?.body).toEqual(EXCEEDED);
      const retryAfter = Number(answers[2]?.headers['retry-after']);
      expect(retryAfter).toBeGreaterThanOrEqual(1);
      expect(retryAfter).toBeLessThanOrEqual(86_400);
      const note = noteBody({ encryptedContent: 'AAAA'.repeat(8_000) });
      const noted = await call('POST', `${service.api.baseUrl}/api/note`, { json: note, headers: key });
      expect([noted.status, noted.body]).toEqual([429, EXCEEDED]);
      expect((await send(service.api, 40_000, other)).status).toBe(200);
      await isUsed(service, 80_000, key);
    });

    test('is never passed by uploads sent together', async () => {
      const key = who(2);
      const answers = await Promise.all(Array.from({ length: 20 }, (_, i) => send(inTurn(i), 30_000, key)));
      expect(statusesOf(answers)).toEqual([...Array(3).fill(200), ...Array(17).fill(429)]);
    });

    test('counts what was stored: not what was refused or broken off, nor what came with a wrong key', async () => {
      const key = who(3);
      for (let i = 0; i < 3; i++) {
        // 429 until the bytes of the last try of hasLeft are given back.
        await untilTrue(async () => (await send(inTurn(i), 90_000, { ...key, 'X-Salt': 'short' })).status === 400);
        expect((await send(inTurn(i), 200_000, key)).status).toBe(413);
        const wrong = { Authorization: `${key.Authorization}0` };
        expect((await send(inTurn(i), 90_000, wrong)).status).toBe(401);
        await breakOff(inTurn(i).baseUrl, 90_000, key);
        await untilTrue(() => hasLeft(service, QUOTA, key));
      }
      await isUsed(service, 0, key);
    });

    test('counts notes and requests for files by the length of their bodies', async () => {
      const key = who(4);
      let bytes = 0;
      for (const [path, json] of [
        ['note', noteBody()],
        ['request', requestBody()],
      ] as const) {
        const { status } = await call('POST', `${service.api.baseUrl}/api/${path}`, { json, headers: key });
        expect(status).toBe(201);
        bytes += JSON.stringify(json).length;
      }
      await isUsed(service, bytes, key);
    });

    test('counts an upload in parts at its beginning; who ends it needs no key for the rest to be given back, once', async () => {
      const key = who(5);
      const begin = (lengths: Record<string, string | undefined>) =>
        new PartsApi(service.api).begun(randomBytes(1_000), { ...fromAnywhere(), ...key, ...lengths });
      const cancelled = await begin({ 'X-Upload-Length': '90000' });
      await isUsed(service, 90_000, key);
      for (const status of [200, 404]) {
        expect((await new PartsApi(inTurn(1)).cancel(cancelled.id, cancelled.ownerToken)).status).toBe(status);
      }
      await isUsed(service, 0, key);

      const short = await begin({ 'X-Upload-Length': undefined, 'X-Upload-Length-Max': '90000' });
      await new PartsApi(service.api).send(short, 1);
      expect(await hasLeft(service, 20_000, key)).toBe(false);
      await Promise.all(
        Array.from({ length: 5 }, (_, i) =>
          new PartsApi(inTurn(i)).complete(short.id, short.ownerToken, { length: 1_000 }),
        ),
      );
      await isUsed(service, 1_000, key);
    });

    test('is the setting that its hash stands with, if there is one: more, or no limit', async () => {
      expect((await send(service.api, 140_000, bearer(RICH))).status).toBe(200);
      await isUsed(service, 140_000, bearer(RICH), 150_000);
      for (let i = 0; i < 4; i++) expect((await send(inTurn(i), 140_000, bearer(FREE))).status).toBe(200);
    });

    test('stands beside what an address may upload, which is asked first: what that refuses the key is not charged for', async () => {
      const key = who(6);
      const from = fromAnywhere();
      for (let i = 0; i < 3; i++)
        expect((await send(inTurn(i), 140_000, { ...bearer(FREE), ...from })).status).toBe(200);
      const refused = await send(service.api, 90_000, { ...key, ...from });
      expect([refused.status, refused.body]).toEqual([429, EXCEEDED]);
      await isUsed(service, 0, key);
    });

    test('refuses what the address is then not charged for', async () => {
      const [key, from] = [who(8), fromAnywhere()];
      expect((await send(service.api, 90_000, { ...key, ...from })).status).toBe(200);
      for (let i = 0; i < 5; i++) expect((await send(inTurn(i), 90_000, { ...key, ...from })).status).toBe(429);
      const rest = async () => (await send(service.api, 140_000, { ...bearer(FREE), ...from })).status;
      await untilTrue(async () => (await rest()) === 200);
      await untilTrue(async () => (await rest()) === 200);
    });

    test('is not used by who sends to a request', async () => {
      const key = who(7);
      const json = requestBody();
      const asked = await call('POST', `${service.api.baseUrl}/api/request`, { json, headers: key });
      const url = `${service.api.baseUrl}/api/request/${asked.body.id}/slot`;
      const { slot } = (await call('POST', url)).body;
      expect((await send(service.api, 140_000, { 'X-Request-Slot': String(slot) })).status).toBe(200);
      await isUsed(service, JSON.stringify(json).length, key);
      expect((await new RequestsApi(service.api).info(String(asked.body.id))).status).toBe(200);
    });
  },
);

describeEachShape(
  'what each may upload in a day whom a proxy names',
  {
    CREATE_GUARD: 'header',
    CREATE_HEADER: 'X-User',
    CREATE_QUOTA_BYTES: String(QUOTA),
    TRUST_PROXY: '127.0.0.0/8,::1',
  },
  (service) => {
    test('counts over all addresses and replicas', async () => {
      const as = (name: string) => ({ 'X-User': name });
      const answers = [];
      for (let i = 0; i < 3; i++) {
        const api = service.replicas[i % service.replicas.length] ?? service.api;
        answers.push(await send(api, 40_000, as('anna')));
      }
      expect(answers.map(({ status }) => status)).toEqual([200, 200, 429]);
      expect((await send(service.api, 90_000, as('bela'))).status).toBe(200);
      await isUsed(service, 90_000, as('bela'));
    });
  },
);

/** Begins an upload and leaves in the middle of it. */
async function breakOff(baseUrl: string, size: number, who: Record<string, string>) {
  const socket = await openSocket(baseUrl);
  const headers = uploadHeaders(tokens(), { ...fromAnywhere(), ...who });
  socket.write(requestHead('POST /api/upload', { 'Content-Length': String(size), ...headers }));
  socket.write(Buffer.alloc(1_000));
  await sleep(100);
  socket.destroy();
}
