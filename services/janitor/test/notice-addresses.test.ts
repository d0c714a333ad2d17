import { allowedHost, parseHosts } from '@mayfly/shared/notice-hosts';
import type { Notice } from '@mayfly/store/notices';
import { startReceiver } from '@mayfly/testing/receiver';
import { describe, expect, test } from 'vitest';
import { isAllowed } from '../src/notices/addresses.ts';
import { noticeSender } from '../src/notices/send.ts';

// Ways to make a service call what only it can reach: each is refused, and nothing connects.

const receiver = await startReceiver();
const { port } = receiver;
const noticeTo = (url: string): Notice => ({
  id: '00000000-0000-4000-8000-000000000000',
  itemId: '00000000-0000-4000-8000-000000000001',
  event: 'used',
  at: undefined,
  kind: 'webhook',
  hook: { host: 'any', url, secret: 'whsec_c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0', key: 'k' },
});
/** What a name leads to, as names do that an attacker owns. */
const sender = (webhookHosts: string[], addresses: string[] = ['127.0.0.1'], networks: string[] = []) =>
  noticeSender({ webhookHosts, pushHosts: [], networks, ca: receiver.ca, names: async () => addresses });

/** Spelled in a way that hides where they lead; `*` is allowed, and each of these hosts by its own name. */
const SPELLINGS = [
  `http://127.0.0.1:${port}/`,
  `https://127.0.0.1:${port}/`,
  `https://localhost:${port}/`,
  `https://localhost.:${port}/`,
  `https://hooks.example.:${port}/`,
  `https://2130706433:${port}/`,
  `https://0x7f000001:${port}/`,
  `https://0x7f.1:${port}/`,
  `https://0177.0.0.1:${port}/`,
  `https://017700000001:${port}/`,
  `https://127.1:${port}/`,
  `https://127.0.0.1.:${port}/`,
  `https://0:${port}/`,
  `https://0.0.0.0:${port}/`,
  `https://[::]:${port}/`,
  `https://[::1]:${port}/`,
  `https://[0:0:0:0:0:0:0:1]:${port}/`,
  `https://[::ffff:127.0.0.1]:${port}/`,
  `https://[::ffff:7f00:1]:${port}/`,
  `https://[::127.0.0.1]:${port}/`,
  `https://[64:ff9b::7f00:1]:${port}/`,
  `https://[2002:7f00:1::]:${port}/`,
  `https://[fe80::1%25lo]:${port}/`,
  `https://hooks.example@127.0.0.1:${port}/`,
  `https://127.0.0.1:${port}@hooks.example/`,
  `https://hooks.example:secret@127.0.0.1:${port}/`,
  `https://hooks.example\\@127.0.0.1:${port}/`,
  `https://127.0.0.1:${port}\\.hooks.example/`,
  `https://127.0.0.1:${port}#.hooks.example/`,
  `https://127.0.0.1:${port}%2f.hooks.example/`,
  `https://127%2e0%2e0%2e1:${port}/`,
  `https://①②⑦.⓪.⓪.①:${port}/`,
  `https://ⓛocalhost:${port}/`,
  `https://127。0。0。1:${port}/`,
  `https://hооks.example:${port}/`, // two letters of it are Cyrillic
  `https://hooks.example :${port}/`,
  `https://hooks.example\t:${port}/`,
  ` https://127.0.0.1:${port}/`,
  `https:127.0.0.1:${port}/`,
  `https:///127.0.0.1:${port}/`,
  `//127.0.0.1:${port}/`,
  `ftp://127.0.0.1:${port}/`,
  'file:///etc/passwd',
  'https://hooks.example:25/',
  'https://hooks.example:0/',
  'https://hooks.example.attacker.example:8443/',
  `https://hooks.example/${'x'.repeat(1_100)}`,
];

/** All that could be asked for, so that it is not the name that is refused. */
const HOSTS = [
  '*',
  'hooks.example',
  ...['localhost', '127.0.0.1', 'hooks.example', '0.0.0.0', '[::]', '[::1]'].map((host) => `${host}:${port}`),
];

/** Addresses that a name may lead to. */
const ADDRESSES = [
  '127.0.0.1',
  '127.255.255.254',
  '0.0.0.0',
  '0.0.0.1',
  '10.0.0.1',
  '172.16.0.1',
  '172.31.255.255',
  '192.168.0.1',
  '169.254.169.254',
  '100.64.0.1',
  '192.0.0.1',
  '192.0.2.1',
  '198.18.0.1',
  '198.51.100.1',
  '203.0.113.1',
  '224.0.0.1',
  '240.0.0.1',
  '255.255.255.255',
  '::',
  '::1',
  '::ffff:127.0.0.1',
  '::ffff:169.254.169.254',
  '::ffff:8.8.8.8',
  '::127.0.0.1',
  '64:ff9b::7f00:1',
  '64:ff9b:1::a00:1',
  '2002:7f00:1::1',
  '2001::1',
  'fe80::1',
  'fec0::1',
  'fc00::1',
  'fd00:ec2::254',
  'ff02::1',
  '100::1',
  '2001:db8::1',
  '4000::1',
];

describe('where notices go', () => {
  test.each(SPELLINGS)('not to %j', async (url) => {
    const outcome = await sender(HOSTS)('upload', noticeTo(url));
    expect([outcome, receiver.connections]).toEqual(['refused', 0]);
  });

  test.each(ADDRESSES)('not to a name that leads to %s, alone or beside a public address', async (address) => {
    for (const addresses of [[address], ['1.1.1.1', address], [address, '2606:4700:4700::1111']]) {
      const send = sender([`hooks.example:${port}`], addresses);
      expect(await send('upload', noticeTo(`https://hooks.example:${port}/`))).toBe('refused');
    }
    expect(receiver.connections).toBe(0);
  });

  test('not to an address that is allowed as a host, but in no network that is', async () => {
    for (const [host, networks] of [
      [`127.0.0.1:${port}`, []],
      [`127.0.0.1:${port}`, ['10.0.0.0/8', '::1']],
      [`[::ffff:7f00:1]:${port}`, ['127.0.0.0/8']],
    ] as const) {
      expect(await sender([host], [], [...networks])('upload', noticeTo(`https://${host}/`))).toBe('refused');
    }
    expect(receiver.connections).toBe(0);
  });

  test('a name is asked for once; what it leads to afterwards is nothing to the connection', async () => {
    const answers = [['127.0.0.1'], ['10.0.0.1']];
    let asked = 0;
    const names = async () => answers[asked++] ?? [];
    const hosts = { webhookHosts: [`localhost:${port}`], pushHosts: [] };
    const send = noticeSender({ ...hosts, networks: ['127.0.0.0/8'], names, ca: receiver.ca });
    expect(await send('upload', noticeTo(`https://localhost:${port}/first`))).toBe('sent');
    expect([asked, receiver.connections, receiver.received.at(-1)?.path]).toEqual([1, 1, '/first']);
    expect(await send('upload', noticeTo(`https://localhost:${port}/second`))).toBe('refused');
    expect([asked, receiver.connections]).toEqual([2, 1]);
  });

  test('a redirect is not followed', async () => {
    receiver.manner = { redirect: `https://127.0.0.1:${port}/elsewhere` };
    const send = sender([`localhost:${port}`], ['127.0.0.1'], ['127.0.0.1']);
    expect(await send('upload', noticeTo(`https://localhost:${port}/here`))).toBe('failed');
    expect(receiver.received.filter(({ path }) => path === '/elsewhere')).toEqual([]);
  });

  test('a certificate that nobody believes, or of another name, gets nothing', async () => {
    const before = receiver.received.length;
    const hosts = { webhookHosts: [`localhost:${port}`, `other.example:${port}`], pushHosts: [] };
    const facts = { ...hosts, networks: ['127.0.0.1'], names: async () => ['127.0.0.1'] };
    expect(await noticeSender(facts)('upload', noticeTo(`https://localhost:${port}/`))).toBe('failed');
    const other = noticeSender({ ...facts, ca: receiver.ca });
    expect(await other('upload', noticeTo(`https://other.example:${port}/`))).toBe('failed');
    expect(receiver.received.length).toBe(before);
  });

  test('public addresses are allowed, and networks that the operator lists', () => {
    for (const address of ['1.1.1.1', '8.8.8.8', '2606:4700:4700::1111']) expect(isAllowed(address, [])).toBe(true);
    expect(isAllowed('10.1.2.3', ['10.1.0.0/16'])).toBe(true);
    expect(isAllowed('10.2.2.3', ['10.1.0.0/16'])).toBe(false);
    expect(isAllowed('fd00::5', ['fd00::/64'])).toBe(true);
    expect(isAllowed('no address', ['10.1.0.0/16'])).toBe(false);
  });

  test('hosts are allowed by their name, below a name, with a port, or all that are names', () => {
    const named = (url: string, hosts: string) => allowedHost(url, parseHosts(hosts) ?? []);
    expect(named('https://hooks.example/a?b=c', 'hooks.example')).toBe('hooks.example');
    expect(named('https://HOOKS.example:443', 'hooks.example')).toBe('hooks.example');
    expect(named('https://a.b.hooks.example/', '*.hooks.example')).toBe('a.b.hooks.example');
    expect(named('https://hooks.example/', '*.hooks.example')).toBeUndefined();
    expect(named('https://xhooks.example/', '*.hooks.example')).toBeUndefined();
    expect(named('https://hooks.example:8443/', 'hooks.example')).toBeUndefined();
    expect(named('https://hooks.example:8443/', 'hooks.example:8443')).toBe('hooks.example:8443');
    expect(named('https://any.example/', '*')).toBe('any.example');
    expect(named('https://any.example:8443/', '*')).toBeUndefined();
    expect(named('https://1.1.1.1/', '*')).toBeUndefined();
    expect(named('https://[2606:4700:4700::1111]/', '*')).toBeUndefined();
    expect(named('https://1.1.1.1/', '1.1.1.1')).toBe('1.1.1.1');
    expect(named('https://host/', '*')).toBeUndefined();
    for (const bad of ['https://hooks.example', 'a b', '', 'hooks.*.example', '*.', 'user@host']) {
      expect(parseHosts(bad), bad).toBeUndefined();
    }
  });
});
