import { openSocket, requestHead, untilTrue } from '@mayfly/testing/wire';
import { expect, test } from 'vitest';
import { type Api, call, token } from '../support/api.ts';
import { describeEachShape } from '../support/each-shape.ts';

const MAX = 20;
const ITEM_MAX = 200;

const from = (address: string) => ({ 'X-Forwarded-For': address });
const download = (api: Api, id: string, authToken: string, address: string) =>
  call('GET', `${api.baseUrl}/api/download/${id}`, { headers: { 'X-Auth-Token': authToken, ...from(address) } });

/** Heads of downloads with tokens that are wrong, for one connection. */
const guesses = (id: string, count: number, address: string) =>
  Array.from({ length: count }, () =>
    requestHead(`GET /api/download/${id}`, { 'X-Auth-Token': token(), ...from(address) }),
  ).join('');

/** Sends guesses down one connection without waiting in between, and resolves with the statuses that come back. */
async function pipelined(baseUrl: string, id: string, count: number, address: string): Promise<number[]> {
  const socket = await openSocket(baseUrl);
  let text = '';
  socket.on('data', (chunk) => {
    text += chunk;
  });
  socket.write(guesses(id, count, address));
  const statuses = () => [...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => Number(status));
  await untilTrue(() => statuses().length === count, 30_000);
  socket.destroy();
  return statuses();
}

/** How often each status came. */
function tally(statuses: number[]): Record<number, number> {
  const counts: Record<number, number> = {};
  for (const status of statuses) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}

describeEachShape(
  'guessing',
  { TOKEN_FAILURES_MAX: String(MAX), TOKEN_FAILURES_ITEM_MAX: String(ITEM_MAX), TRUST_PROXY: '1' },
  (service) => {
    const replica = (index: number): Api => service.replicas[index % service.replicas.length] ?? service.api;
    const statusesOf = async (answers: ReturnType<typeof call>[]) =>
      tally((await Promise.all(answers)).map(({ status }) => status));

    test('of 1,000 pipelined guesses as many are tried as the limit allows, over all replicas', async () => {
      const upload = await service.api.newUpload();
      const share = 1_000 / service.replicas.length;
      const all = await Promise.all(
        service.replicas.map(({ baseUrl }) => pipelined(baseUrl, upload.id, share, '192.0.2.1')),
      );
      expect(tally(all.flat())).toEqual({ 401: MAX, 429: 1_000 - MAX });
      expect((await download(service.api, upload.id, upload.authToken, '192.0.2.1')).status).toBe(429);
      expect((await service.api.info(upload.id)).body.downloadCount).toBe(0);
    });

    test('200 downloads at once with the right token are all answered as they should be', async () => {
      const upload = await service.api.newUpload({ 'X-Max-Downloads': '100' });
      const answers = Array.from({ length: 200 }, (_, index) =>
        download(replica(index), upload.id, upload.authToken, '192.0.2.2'),
      );
      expect(await statusesOf(answers)).toEqual({ 200: 100, 410: 100 });
    });

    test('an IPv6 network may guess more than each of those in it, and not as much as all of them', async () => {
      /** Half of what each /64 may guess, from one /64 after the other. */
      const guessFrom = (id: string, networks: string[]) =>
        statusesOf(
          networks.flatMap((network) =>
            Array.from({ length: MAX / 2 }, (_, index) =>
              download(replica(index), id, token(), `${network}::${index + 1}`),
            ),
          ),
        );
      const hex = (number: number) => number.toString(16);
      const [one, other] = [await service.api.newUpload(), await service.api.newUpload()];
      const ofOne56 = Array.from({ length: 12 }, (_, index) => `2001:db8:8:${hex(index)}`);
      expect((await guessFrom(one.id, ofOne56))[401]).toBe(4 * MAX);
      const ofOne48 = Array.from({ length: 20 }, (_, index) => `2001:db8:7:${hex(index * 256)}`);
      expect((await guessFrom(other.id, ofOne48))[401]).toBe(8 * MAX);
      expect((await download(service.api, other.id, other.authToken, '2001:db8:9::1')).status).toBe(200);
    });

    test('when an item’s budget is used up who has failed is refused, and who has not always gets an attempt', async () => {
      const upload = await service.api.newUpload({ 'X-Max-Downloads': '100' });
      const networks = Array.from({ length: ITEM_MAX / MAX }, (_, index) => `198.51.100.${index}`);
      const spent = networks.map((address) => pipelined(service.api.baseUrl, upload.id, MAX - 1, address));
      await Promise.all(spent);
      const rest = Array.from({ length: networks.length }, (_, index) =>
        download(service.api, upload.id, token(), `198.51.100.${100 + index}`),
      );
      expect(await statusesOf(rest)).toEqual({ 401: networks.length });

      const again = await download(service.api, upload.id, token(), '198.51.100.1');
      expect([again.status, again.body]).toEqual([429, { error: 'Too many requests' }]);
      expect(Number(again.headers['retry-after'])).toBeGreaterThan(0);
      // A new network for every guess, one at a time.
      const fresh = Array.from({ length: 10 }, (_, index) =>
        download(replica(index), upload.id, token(), '198.51.100.200'),
      );
      expect(await statusesOf(fresh)).toEqual({ 401: 1, 429: 9 });
      const recipient = Array.from({ length: 20 }, (_, index) =>
        download(replica(index), upload.id, upload.authToken, '198.51.100.201'),
      );
      expect(await statusesOf(recipient)).toEqual({ 200: 20 });
      const other = await service.api.newUpload();
      expect((await download(service.api, other.id, token(), '198.51.100.1')).status).toBe(401);
    });
  },
);
