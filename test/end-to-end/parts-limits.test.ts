import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { untilTrue } from '@mayfly/testing/wire';
import { expect, test } from 'vitest';
import { token, uploadHeaders } from '../support/api.ts';
import { describeEachShape } from '../support/each-shape.ts';
import { type Begun, PART, PartsApi, payloadOf } from '../support/parts.ts';

const MIB = 1024 * 1024;
const tokens = () => ({ authToken: token(), ownerToken: token() });
const ofBytes = (bytes: number, name = 'X-Upload-Length') =>
  uploadHeaders(tokens(), { [name]: String(bytes), 'X-Part-Bytes': String(PART) });

describeEachShape(
  'what a client may have of uploads in parts',
  { UPLOAD_QUOTA_BYTES: '100MiB', UPLOAD_SESSIONS_MAX: '4' },
  (service) => {
    const api = () => new PartsApi(service.api);
    const anyOf = (index: number) => new PartsApi(service.replicas[index % service.replicas.length] ?? service.api);
    /** Whether so many bytes are still there, without using them up. */
    async function hasLeft(bytes: number): Promise<boolean> {
      const { ownerToken, ...headers } = { ownerToken: token(), ...ofBytes(bytes) };
      const answer = await api().begin({ ...headers, 'X-Owner-Token': ownerToken });
      if (answer.status === 201) expect((await api().cancel(String(answer.body.id), ownerToken)).status).toBe(200);
      else expect([answer.status, answer.body]).toEqual([429, { error: 'Upload quota exceeded' }]);
      return answer.status === 201;
    }

    test('bytes are charged once, at the beginning; what is cancelled or not stored is given back to the byte, once', async () => {
      const all = 100 * MIB;
      await untilTrue(() => hasLeft(all)); // and so what was asked for and cancelled is there again
      expect(await hasLeft(all + 1)).toBe(false);

      const upload = await api().begun(payloadOf(2));
      const { length } = upload.payload;
      for (const number of [1, 1, 1, 2]) await api().send(upload, number); // parts cost nothing, however often they are sent
      expect(await hasLeft(all - length)).toBe(true);
      expect(await hasLeft(all - length + 1)).toBe(false);
      const answers = await Promise.all(
        Array.from({ length: 10 }, (_, index) => anyOf(index).complete(upload.id, upload.ownerToken, { length })),
      );
      expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
      // Bodies of JSON are charged as everywhere.
      const ofBodies = 10 * JSON.stringify({ length }).length;
      expect(await hasLeft(all - length - ofBodies)).toBe(true);
      expect(await hasLeft(all - length - ofBodies + 1)).toBe(false);

      const short: Begun = await api().begun(randomBytes(1_000), {
        'X-Upload-Length': undefined,
        'X-Upload-Length-Max': String(50 * MIB),
      });
      await api().send(short, 1);
      expect(await hasLeft(50 * MIB)).toBe(false);
      await Promise.all(
        Array.from({ length: 10 }, (_, index) => anyOf(index).complete(short.id, short.ownerToken, { length: 1_000 })),
      );
      const left = all - length - ofBodies - 1_000 - 10 * JSON.stringify({ length: 1_000 }).length;
      await untilTrue(() => hasLeft(left));
      expect(await hasLeft(left + 1)).toBe(false);
    });

    test('what is refused is not charged', async () => {
      const before = await api().begin({ ...ofBytes(MIB), 'X-Salt': 'none' });
      expect(before.status).toBe(400);
      expect((await api().begin({ ...ofBytes(MIB), 'X-Upload-Length': '1e6' })).status).toBe(400);
      expect((await api().begin(ofBytes(2 ** 45))).status).toBe(413);
      expect(await hasLeft(50 * MIB)).toBe(true);
    });

    test('of twenty at once over all replicas as many are begun as a client may have open; each end makes room for one', async () => {
      const owner = { ...tokens() };
      const headers = uploadHeaders(owner, { 'X-Upload-Length': '10', 'X-Part-Bytes': String(PART) });
      const answers = await Promise.all(Array.from({ length: 20 }, (_, index) => anyOf(index).begin(headers)));
      const begun = answers.filter(({ status }) => status === 201).map(({ body }) => String(body.id));
      expect(begun.length).toBeLessThanOrEqual(4);
      for (const { status, body, headers: answered } of answers) {
        if (status === 201) continue;
        expect([status, body]).toEqual([429, { error: 'Too many requests' }]);
        expect(Number(answered['retry-after'])).toBeGreaterThan(0);
      }
      while (begun.length < 4) {
        const answer = await api().begin(headers);
        expect(answer.status).toBe(201);
        begun.push(String(answer.body.id));
      }
      expect((await api().begin(headers)).status).toBe(429);
      const [one = '', other = ''] = begun;
      expect((await api().cancel(one, owner.ownerToken)).status).toBe(200);
      expect((await api().cancel(one, owner.ownerToken)).status).toBe(404);
      await api().put(other, 1, owner.ownerToken, randomBytes(10));
      for (const _ of [1, 2]) expect((await api().complete(other, owner.ownerToken, { length: 10 })).status).toBe(200);
      await untilTrue(async () => (await api().begin(headers)).status === 201);
      await untilTrue(async () => (await api().begin(headers)).status === 201);
      await sleep(200);
      expect((await api().begin(headers)).status).toBe(429);
    });
  },
);

describeEachShape('the end of an upload in parts', { UPLOAD_SESSION_SEC: '3' }, (service) => {
  const api = () => new PartsApi(service.api);

  test('is hard: 410, and after the next sweep 404; nothing is left of it', async () => {
    const before = (await service.running.blobs.names()).sort();
    const upload = await api().begun(payloadOf(2));
    await api().send(upload, 1);
    const asked = {
      part: async () => (await api().send(upload, 2)).status,
      state: async () => (await api().state(upload.id, upload.ownerToken)).status,
      complete: async () =>
        (await api().complete(upload.id, upload.ownerToken, { length: upload.payload.length })).status,
    };
    expect([await asked.part(), await asked.state()]).toEqual([200, 200]);
    const seen = new Set<number>();
    await untilTrue(async () => {
      const status = await asked.state();
      seen.add(status);
      if (status === 410) expect([410, 404]).toContain(await asked.complete());
      return status === 404;
    });
    expect([...seen]).toEqual(expect.arrayContaining([200, 404]));
    expect([await asked.part(), await asked.complete()]).toEqual([404, 404]);
    await untilTrue(async () => (await service.running.blobs.names()).sort().join() === before.join());
  });
});

describeEachShape(
  'the ceiling of all uploads and those in parts',
  { STORAGE_MAX_BYTES: '10MiB', UPLOAD_SESSIONS_MAX: '0' },
  (service) => {
    const NO_ROOM = [507, { error: 'Not enough storage space for this upload' }];
    const anyOf = (index: number) => new PartsApi(service.replicas[index % service.replicas.length] ?? service.api);

    test.each(['X-Upload-Length', 'X-Upload-Length-Max'])(
      '507: what does not fit as a whole is not begun: %s',
      async (name) => {
        const answer = await anyOf(0).begin(ofBytes(10 * MIB + 1, name));
        expect([answer.status, answer.body]).toEqual(NO_ROOM);
        expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0);
      },
    );

    test('who only begins takes nothing from others; of twenty parts at once over all replicas as many as fit are stored', async () => {
      const begun = await Promise.all(
        Array.from({ length: 20 }, (_, index) => anyOf(index).begun(payloadOf(2).subarray(0, 2 * PART))),
      );
      const whole = await service.api.upload(randomBytes(1), uploadHeaders(tokens()));
      expect(whole.status).toBe(200);
      const answers = await Promise.all(begun.map((upload, index) => anyOf(index).send(upload, 1)));
      expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
      for (const { status, body } of answers) if (status !== 200) expect([status, body]).toEqual(NO_ROOM);
      const stored = answers.findIndex(({ status }) => status === 200);
      const { id, ownerToken } = begun[stored] as Begun;
      expect((await anyOf(1).state(id, ownerToken)).body).toMatchObject({ state: 'open', stored: '1', bytes: PART });
    });
  },
);
