import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { findProgram } from '@mayfly/local-stores/find-program';
import { freePort } from '@mayfly/local-stores/ports';
import { type RunningShape, startShape } from '@mayfly/testing/shapes';
import { freshFolder } from '@mayfly/testing/stores';
import { openSocket, requestHead, untilTrue } from '@mayfly/testing/wire';
import { Agent, request } from 'undici';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Api, call, token, uploadHeaders } from '../support/api.ts';

// The reverse proxies whose files are in deploy/proxy, before a real service.

const MIB = 1024 * 1024;
const files = resolve(import.meta.dirname, '../../deploy/proxy');

type Proxy = {
  name: string;
  program: string | undefined;
  prepare(folder: string, port: number, upstream: string): string[];
};

/** Replaces a line of the shipped file, which must be there: the test is of that file and of nothing else. */
function change(text: string, ...changes: [RegExp, string][]): string {
  return changes.reduce((changed, [line, replacement]) => {
    if (!line.test(changed)) throw new Error(`the file has no ${line}`);
    return changed.replace(line, replacement);
  }, text);
}

const PROXIES: Proxy[] = [
  {
    name: 'nginx',
    program: findProgram(['nginx'], ['/usr/sbin', '/usr/local/sbin']),
    prepare(folder, port, upstream) {
      const server = change(
        readFileSync(join(files, 'nginx.conf'), 'utf8'),
        [/server 127\.0\.0\.1:3000;/, `server ${new URL(upstream).host};`],
        [/listen 443 ssl;/, `listen 127.0.0.1:${port};`],
        [/listen \[::\]:443 ssl;/, ''],
        [/ssl_certificate .*;/, ''],
        [/ssl_certificate_key .*;/, ''],
        [/error_log \S+ emerg;/, `error_log ${join(folder, 'mayfly.log')} emerg;`],
      );
      const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => {
        mkdirSync(join(folder, name));
        return `${name}_temp_path ${join(folder, name)};`;
      });
      const path = join(folder, 'nginx.conf');
      writeFileSync(
        path,
        `daemon off; master_process off; pid ${folder}/pid; error_log stderr; ${process.getuid?.() === 0 ? 'user root;' : ''}
        events {}
        http { access_log ${join(folder, 'access.log')}; ${temporary.join(' ')}\n${server} }`,
      );
      return ['-c', path, '-p', folder];
    },
  },
  {
    name: 'Caddy',
    program: findProgram(['caddy']),
    prepare(folder, port, upstream) {
      const site = change(
        readFileSync(join(files, 'Caddyfile'), 'utf8'),
        [/^mayfly\.example \{$/m, `http://:${port} {`],
        [/reverse_proxy 127\.0\.0\.1:3000/, `reverse_proxy ${new URL(upstream).host}`],
      );
      const path = join(folder, 'Caddyfile');
      writeFileSync(path, site.replace(/^\{$/m, '{\n\tadmin off\n\tauto_https off'));
      return ['run', '--config', path, '--adapter', 'caddyfile'];
    },
  },
  {
    name: 'HAProxy',
    program: findProgram(['haproxy'], ['/usr/sbin', '/usr/local/sbin']),
    prepare(folder, port, upstream) {
      const text = change(
        readFileSync(join(files, 'haproxy.cfg'), 'utf8'),
        [/bind :3000/, `bind 127.0.0.1:${port}`],
        // One gateway, whose admin port is not looked at: test/compose/upgrade does that.
        [/option httpchk .*/, ''],
        [/default-server check .*/, ''],
        [/server-template gateway .*/, `server gateway ${new URL(upstream).host}`],
        [/server-template gateway .*/, `server gateway ${new URL(upstream).host}`],
      );
      const path = join(folder, 'haproxy.cfg');
      writeFileSync(path, text);
      return ['-db', '-f', path];
    },
  },
];

for (const { name, program } of PROXIES) {
  if (!program)
    console.log(
      `${name} is not on this machine: deploy/proxy is not tested with it here (Debian has the package ${name.toLowerCase()})`,
    );
}

describe.each(PROXIES)('$name in front', ({ program, prepare }) => {
  describe.skipIf(!program)('with the file of deploy/proxy (skipped where the program is not on the PATH)', () => {
    const stack = new AsyncDisposableStack();
    let running: RunningShape;
    let proxy: ChildProcess;
    let folder: string;
    let url: string;
    let api: Api;
    let output = '';
    beforeAll(async () => {
      folder = stack.use(await freshFolder()).path;
      running = stack.use(
        await startShape('split', {
          TRUST_PROXY: '1',
          MAX_FILE_SIZE: String(48 * MIB),
          RATE_LIMIT_MAX: '5000',
          NODE_ENV: '',
        }),
      );
      const port = await freePort();
      url = `http://127.0.0.1:${port}`;
      proxy = spawn(program ?? '', prepare(folder, port, running.baseUrl), {
        stdio: ['ignore', 'pipe', 'pipe'],
        env: { PATH: process.env.PATH, HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder },
      });
      for (const stream of [proxy.stdout, proxy.stderr]) {
        stream?.on('data', (text) => {
          output += text;
        });
      }
      stack.defer(async () => {
        if (proxy.exitCode !== null) return;
        const exited = once(proxy, 'exit');
        proxy.kill('SIGKILL'); // some wait for their connections, as long as it takes
        await exited;
      });
      await untilTrue(async () => {
        if (proxy.exitCode !== null) throw new Error(`it ended: ${output}`);
        return fetch(`${url}/api/health`).then(
          (answer) => answer.ok,
          () => false, // not listening yet
        );
      });
      api = new Api(url);
    });
    afterAll(() => stack.disposeAsync());

    test('a large payload passes both ways unchanged', async () => {
      const upload = await api.newUpload({}, randomBytes(40 * MIB));
      const download = await api.download(upload.id, upload.authToken);
      expect((download.body.bytes as Buffer).equals(upload.payload)).toBe(true);
    });

    /** Payloads that files has on their way to the blob store. */
    const held = () => running.blobs.openIn(running.processes.map(({ child }) => child.pid));
    /** The head of an upload, and the beginning of its body. */
    async function beginUpload(sizeBytes: number, sentBytes: number) {
      await untilTrue(() => held() === 0, 45_000);
      const headers = {
        ...uploadHeaders({ authToken: token(), ownerToken: token() }),
        'Content-Length': String(sizeBytes),
      };
      const socket = await openSocket(url);
      socket.write(requestHead('POST /api/upload', headers));
      socket.write(Buffer.alloc(sentBytes));
      return socket;
    }

    test('a body is passed on as it comes, and kept nowhere', async () => {
      const socket = await beginUpload(40 * MIB, 10 * MIB);
      await untilTrue(() => held() > 0, 30_000);
      await sleep(500);
      const kept = readdirSync(folder, { recursive: true, withFileTypes: true }).filter(
        (entry) => entry.isFile() && entry.parentPath.match(/_body|proxy/),
      );
      expect(kept).toEqual([]);
      socket.destroy();
    });

    test('413 reaches a client that sends all of its body, every time', async () => {
      for (let times = 0; times < 10; times += 1) {
        // On a connection of its own: a proxy may close it after such an answer.
        const dispatcher = new Agent();
        const headers = uploadHeaders({ authToken: token(), ownerToken: token() });
        const body = Buffer.alloc(49 * MIB);
        const answer = await request(`${url}/api/upload`, { method: 'POST', headers, body, dispatcher });
        expect([answer.statusCode, await answer.body.json()]).toEqual([413, expect.anything()]);
        await dispatcher.destroy();
      }
    });

    test('a client is counted under its own address, whatever it says', async () => {
      const gateway = running.processes.find(({ url: own }) => own === running.baseUrl);
      expect(gateway).toBeDefined();
      const forged = { 'X-Forwarded-For': '203.0.113.7' };
      const first = await call('GET', `${url}/api/config`, { headers: forged });
      const second = await call('GET', `${url}/api/config`, { headers: { 'X-Forwarded-For': '203.0.113.8' } });
      const left = ({ headers }: typeof first) => Number(/r=(\d+)/.exec(String(headers.ratelimit))?.[1]);
      expect(left(second)).toBe(left(first) - 1);
    });

    test('a client that leaves ends its upload behind the proxy, too', async () => {
      const socket = await beginUpload(40 * MIB, 5 * MIB);
      await untilTrue(() => held() > 0, 30_000);
      socket.destroy();
      await untilTrue(() => held() === 0, 45_000);
    });

    test('a download is counted once', async () => {
      const upload = await api.newUpload({ 'X-Max-Downloads': '5' });
      expect((await api.download(upload.id, upload.authToken)).status).toBe(200);
      expect((await api.info(upload.id)).body.downloadCount).toBe(1);
    });

    test('neither an address nor a path is in its logs, whatever goes wrong', async () => {
      const upload = await api.newUpload({ 'X-Max-Downloads': '5' });
      const path = `/d/${upload.id}`;
      await call('GET', url + path);
      await api.download(upload.id, token());
      // A client that leaves in the middle, one that is too slow with its headers, and a gateway that is away.
      const leaving = await beginUpload(40 * MIB, MIB);
      leaving.destroy();
      const gateway = running.processes.find(({ url: own }) => own === running.baseUrl);
      gateway?.child.kill('SIGKILL');
      // HAProxy also closes a connection that was used before, when a gateway goes without an answer.
      const status = (target: string) =>
        call('GET', url + target).then(
          (answer) => answer.status,
          () => 0,
        );
      await untilTrue(async () => [502, 503].includes(await status(`/api/info/${upload.id}`)));
      await untilTrue(async () => [502, 503].includes(await status(path)));
      await sleep(500);
      const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter(
        (entry) => entry.isFile() && /\.log$/.test(entry.name),
      );
      const logs = output + files.map(({ parentPath, name }) => readFileSync(join(parentPath, name), 'utf8')).join('');
      for (const secret of [upload.id, '/api/info', '/d/', 'client: 127.0.0.1', '"remote_ip"', 'client_ip']) {
        expect(logs).not.toContain(secret);
      }
    });
  });
});
