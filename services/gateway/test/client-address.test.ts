import { createApp } from '@mayfly/shared/app';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { clientOf } from '../src/limits/keys/client-address.ts';
import { silent } from './start-gateway.ts';

/** Who the client is when a request comes from `socket` with these headers. */
async function clientBehind(trustProxy: number | string[], socket: string, headers: Record<string, string>) {
  await using app = createApp({ logger: silent, isPublic: true, trustProxy });
  app.get('/', async ({ ip }) => ({ client: clientOf(ip) }));
  const answer = await app.inject({ url: '/', remoteAddress: socket, headers });
  return (answer.json() as { client: string }).client;
}

const FORGED = { 'x-real-ip': '203.0.113.1', forwarded: 'for=203.0.113.1', 'client-ip': '203.0.113.1' };

describe('which address is believed', () => {
  test.each<[string, number | string[], string, string | undefined, string]>([
    ['nobody is trusted', 0, '192.0.2.1', '203.0.113.5', '192.0.2.1'],
    ['one proxy: what it has added', 1, '10.0.0.1', '198.51.100.1, 203.0.113.5', '203.0.113.5'],
    ['two proxies: what the outer one has added', 2, '10.0.0.1', '198.51.100.1, 203.0.113.5, 10.0.0.2', '203.0.113.5'],
    ['one proxy that adds nothing', 1, '10.0.0.1', undefined, '10.0.0.1'],
    [
      'a network: the last that is not of it',
      ['10.0.0.0/8'],
      '10.0.0.1',
      '198.51.100.1, 203.0.113.5, 10.9.9.9',
      '203.0.113.5',
    ],
    ['a network that the socket is not of', ['10.0.0.0/8'], '192.0.2.1', '203.0.113.5', '192.0.2.1'],
    ['a network, and a forged address of it', ['10.0.0.0/8'], '10.0.0.1', '10.1.1.1, 203.0.113.5', '203.0.113.5'],
    ['an address, with IPv4 in IPv6', ['10.0.0.1'], '::ffff:10.0.0.1', '203.0.113.5', '203.0.113.5'],
    ['two networks', ['10.0.0.0/8', 'fd00::/8'], 'fd00::1', '203.0.113.5, 10.0.0.1', '203.0.113.5'],
    ['spaces and empty entries', 1, '10.0.0.1', ' , 203.0.113.5 ', '203.0.113.5'],
  ])('%s', async (_, trustProxy, socket, forwardedFor, client) => {
    const headers = { ...FORGED, ...(forwardedFor ? { 'x-forwarded-for': forwardedFor } : {}) };
    expect(await clientBehind(trustProxy, socket, headers)).toBe(client);
  });

  test('whatever stands before what a trusted proxy has added changes nothing', async () => {
    const entry = fc.oneof(fc.ipV4(), fc.ipV6(), fc.constantFrom('unknown', '_hidden', '', '10.0.0.9', '127.0.0.1'));
    await fc.assert(
      fc.asyncProperty(fc.array(entry, { maxLength: 6 }), async (claims) => {
        const headers = { 'x-forwarded-for': [...claims, '203.0.113.5'].join(', ') };
        expect(await clientBehind(1, '10.0.0.1', headers)).toBe('203.0.113.5');
        expect(await clientBehind(['10.0.0.0/8'], '10.0.0.1', headers)).toBe('203.0.113.5');
        expect(await clientBehind(0, '192.0.2.1', headers)).toBe('192.0.2.1');
      }),
      { numRuns: 40 },
    );
  });
});

describe('who is one client', () => {
  test.each([
    ['192.0.2.1:4711', '192.0.2.1'],
    ['192.0.2.1:1', '192.0.2.1'],
    ['[2001:db8:1:2::9]:4711', '2001:db8:1:2::/64'],
    ['[2001:db8:1:2::9]', '2001:db8:1:2::/64'],
    ['[::ffff:192.0.2.1]:4711', '192.0.2.1'],
    ['::ffff:c000:201', '192.0.2.1'],
    ['2001:DB8:0001:0002:0:0:0:1', '2001:db8:1:2::/64'],
    ['999.0.2.1:4711', '999.0.2.1'],
    ['', ''],
  ])('%s is %s', (address, client) => {
    expect(clientOf(address)).toBe(client);
  });

  test('all of a /64, and nobody else', () => {
    const word = fc.integer({ min: 0, max: 0xffff }).map((value) => value.toString(16));
    const words = fc.tuple(word, word, word, word);
    const globalNetwork = fc.tuple(fc.constant('2001'), word, word, word); // not IPv4 in IPv6
    fc.assert(
      fc.property(globalNetwork, words, words, (network, host, otherHost) => {
        const of = (half: string[]) => clientOf([...network, ...half].join(':'));
        expect(of(host)).toBe(of(otherHost));
        const next = [...network];
        next[3] = ((Number.parseInt(network[3], 16) + 1) % 0x10000).toString(16);
        expect(clientOf([...next, ...host].join(':'))).not.toBe(of(host));
      }),
    );
  });
});
