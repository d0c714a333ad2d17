import { execFile } from 'node:child_process';
import { createPrivateKey, sign } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { describeSshKey, formatSshKey, generateSshKey } from '../src/note-formats/ssh-key.ts';

const run = promisify(execFile);
const hasSshKeygen = await run('ssh-keygen', ['-?']).then(
  () => true,
  ({ code }) => code !== 'ENOENT',
);

async function withFiles<T>(files: Record<string, string>, use: (folder: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'mayfly-ssh-'));
  try {
    for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text, { mode: 0o600 });
    return await use(folder);
  } finally {
    await rm(folder, { recursive: true });
  }
}

test('the format is byte for byte that of OpenSSH', () => {
  // RFC 8032, section 7.1, test 1.
  const seed = Buffer.from('9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60', 'hex');
  const publicKey = Buffer.from('d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a', 'hex');
  const pair = formatSshKey(new Uint8Array(seed), new Uint8Array(publicKey), 'a\n comment', Uint8Array.of(1, 2, 3, 4));
  const body = Buffer.from(pair.privateKey.split('\n').slice(1, -2).join(''), 'base64').toString('hex');
  const blob = `0000000b${hex('ssh-ed25519')}00000020${publicKey.toString('hex')}`;
  const secret = `0102030401020304${blob}00000040${seed.toString('hex')}${publicKey.toString('hex')}00000009${hex('a comment')}`;
  const padded = `${secret}01020304`.slice(0, Math.ceil(secret.length / 16) * 16);
  expect(padded.length % 16).toBe(0);
  const head = `${hex('openssh-key-v1\0')}00000004${hex('none')}00000004${hex('none')}0000000000000001`;
  const length = (text: string) => (text.length / 2).toString(16).padStart(8, '0');
  expect(body).toBe(`${head}${length(blob)}${blob}${length(padded)}${padded}`);
  expect(pair.publicKey).toBe(`ssh-ed25519 ${Buffer.from(blob, 'hex').toString('base64')} a comment`);
  for (const line of pair.privateKey.split('\n')) expect(line.length).toBeLessThanOrEqual(70);
});

test('a private key and its public line are described alike', async () => {
  const { privateKey, publicKey } = await generateSshKey('anna@example');
  const facts = await describeSshKey(privateKey);
  expect(facts).toEqual(await describeSshKey(publicKey));
  expect(facts).toMatchObject({ type: 'ssh-ed25519', publicKey: publicKey.replace(' anna@example', '') });
  expect(facts?.fingerprint).toMatch(/^SHA256:[A-Za-z0-9+/]{43}$/);
});

test('no two keys are the same', async () => {
  expect((await generateSshKey('')).privateKey).not.toBe((await generateSshKey('')).privateKey);
});

test.each([
  ['nothing', ''],
  ['a sentence', 'ssh me the key please'],
  [
    'a key that was cut',
    '-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEA\n-----END OPENSSH PRIVATE KEY-----',
  ],
  ['bad base64', '-----BEGIN OPENSSH PRIVATE KEY-----\nA\n-----END OPENSSH PRIVATE KEY-----'],
  ['a length beyond the end', 'ssh-ed25519 /////2E='],
])('%s is not described', async (_, text) => {
  expect(await describeSshKey(text)).toBeUndefined();
});

test.skipIf(!hasSshKeygen)('ssh-keygen takes the private key and says the same about it', async () => {
  const { privateKey, publicKey } = await generateSshKey('anna@example');
  const facts = await describeSshKey(privateKey);
  await withFiles({ id: privateKey, 'id.txt': 'signed' }, async (folder) => {
    expect((await run('ssh-keygen', ['-y', '-f', join(folder, 'id')])).stdout.trim()).toBe(publicKey);
    const { stdout } = await run('ssh-keygen', ['-l', '-f', join(folder, 'id')]);
    expect(stdout.trim()).toBe(`256 ${facts?.fingerprint} anna@example (ED25519)`);
    // The private half belongs to the public one: what it signs is verified.
    await run('ssh-keygen', ['-Y', 'sign', '-q', '-f', join(folder, 'id'), '-n', 'test', join(folder, 'id.txt')]);
    await writeFile(join(folder, 'allowed'), `anna ${publicKey}\n`);
    const arguments_ = ['-Y', 'verify', '-f', 'allowed', '-I', 'anna', '-n', 'test', '-s', 'id.txt.sig'];
    const verified = run('ssh-keygen', arguments_, { cwd: folder });
    verified.child.stdin?.end('signed');
    expect((await verified).stdout).toContain('Good "test" signature');
  });
});

test.skipIf(!hasSshKeygen)('keys that ssh-keygen has made are described, encrypted ones, too', async () => {
  await withFiles({}, async (folder) => {
    for (const [type, passphrase] of [
      ['ed25519', 'secret'],
      ['ecdsa', ''],
    ]) {
      const path = join(folder, `id_${type}`);
      await run('ssh-keygen', ['-q', '-t', type ?? '', '-N', passphrase ?? '', '-C', '', '-f', path]);
      const { readFile } = await import('node:fs/promises');
      const [privateKey, publicKey] = [await readFile(path, 'utf8'), await readFile(`${path}.pub`, 'utf8')];
      expect((await describeSshKey(privateKey))?.publicKey).toBe(publicKey.trim());
    }
  });
});

test('Node reads the seed in the private key as the key of the public line', async () => {
  const { privateKey, publicKey } = await generateSshKey('x');
  const body = Buffer.from(privateKey.split('\n').slice(1, -2).join(''), 'base64');
  const publicBytes = Buffer.from(publicKey.split(' ')[1] ?? '', 'base64').subarray(-32);
  const at = body.lastIndexOf(publicBytes); // the second half of the private field
  const seed = body.subarray(at - 32, at);
  const pkcs8 = Buffer.concat([Buffer.from('302e020100300506032b657004220420', 'hex'), seed]);
  const key = createPrivateKey({ key: pkcs8, format: 'der', type: 'pkcs8' });
  const signature = sign(null, Buffer.from('text'), key);
  const verifier = await crypto.subtle.importKey('raw', publicBytes, 'Ed25519', false, ['verify']);
  expect(await crypto.subtle.verify('Ed25519', verifier, signature, Buffer.from('text'))).toBe(true);
});

function hex(text: string): string {
  return Buffer.from(text).toString('hex');
}
