import { once } from 'node:events';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { startProgram } from '@mayfly/launcher/program';
import { NODE_ARGS } from '@mayfly/launcher/run-options';
import { freePort } from '@mayfly/local-stores/ports';
import type { Target } from './target.ts';

export const REFERENCES = ['http', 'fastify', 'sink', 'reader', 'nginx'] as const;
export type Reference = (typeof REFERENCES)[number];

/** What goes wrong in them is shown, and nothing else. */
const SHOWN = { stdout: 'ignore' } as const;

/** Files that `reader` and `nginx` serve, under the names that this gives to sizes. */
export const fileName = (sizeBytes: number): string => `${sizeBytes}.bin`;

/** Starts a reference. Undefined when the machine does not have the program. */
export async function startReference(
  stack: AsyncDisposableStack,
  name: Reference,
  folder: string,
): Promise<Target | undefined> {
  if (name === 'nginx') return startNginx(stack, folder);
  return startOwn(stack, name, folder);
}

/** Node that does nothing but hand requests to another server, and answers back. */
export const startForwarder = (stack: AsyncDisposableStack, upstream: string) => startOwn(stack, 'forwarder', upstream);

async function startOwn(stack: AsyncDisposableStack, name: string, argument: string): Promise<Target> {
  const entry = join(import.meta.dirname, 'references', `${name}.ts`);
  const program = stack.use(startProgram(process.execPath, [...NODE_ARGS, entry, argument], process.env, SHOWN));
  const [port] = await once(program.child, 'message');
  return { name, url: `http://127.0.0.1:${port}`, processes: { [name]: program.child.pid ?? 0 } };
}

async function startNginx(stack: AsyncDisposableStack, folder: string): Promise<Target | undefined> {
  return runNginx(stack, folder, `root ${folder};`);
}

/** nginx that hands everything to another server, as it comes. Undefined when the machine does not have it. */
export async function startProxy(stack: AsyncDisposableStack, folder: string, upstream: string) {
  return runNginx(
    stack,
    folder,
    `client_max_body_size 0; proxy_request_buffering off; proxy_buffering off; proxy_buffer_size 64k; proxy_buffers 8 64k;
location / { proxy_pass http://upstream; proxy_http_version 1.1; proxy_set_header Connection ""; }`,
    `upstream upstream { server ${new URL(upstream).host}; keepalive 64; keepalive_requests 1000000; }`,
  );
}

async function runNginx(stack: AsyncDisposableStack, folder: string, server: string, more = '') {
  const command = ['/usr/sbin/nginx', '/usr/bin/nginx', '/opt/homebrew/bin/nginx'].find((path) => existsSync(path));
  if (!command) return undefined;
  const port = await freePort();
  const own = join(folder, 'nginx');
  mkdirSync(own, { recursive: true });
  const configuration = join(own, 'nginx.conf');
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((kind) => `${kind}_temp_path ${own};`);
  writeFileSync(
    configuration,
    `daemon off; ${process.getuid?.() === 0 ? 'user root;' : ''} worker_processes 1; pid ${own}/pid; error_log stderr;
events {}
http { access_log off; sendfile on; tcp_nopush on; keepalive_requests 1000000; ${temporary.join(' ')}
${more} server { listen 127.0.0.1:${port}; ${server} } }`,
  );
  const program = stack.use(startProgram(command, ['-p', own, '-c', configuration], process.env, SHOWN));
  const target: Target = {
    name: 'nginx',
    url: `http://127.0.0.1:${port}`,
    processes: { nginx: program.child.pid ?? 0 },
  };
  await untilAnswers(target.url);
  return target;
}

async function untilAnswers(url: string) {
  for (let tries = 0; tries < 200; tries++) {
    const isUp = await fetch(url).then(
      () => true,
      () => false, // not listening yet
    );
    if (isUp) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`nothing answers at ${url}`);
}

/** Writes a file of so many bytes. */
export async function writeFileOf(folder: string, sizeBytes: number, chunk: Buffer) {
  await using file = await open(join(folder, fileName(sizeBytes)), 'w');
  for (let written = 0; written < sizeBytes; written += chunk.length) {
    await file.write(chunk, 0, Math.min(chunk.length, sizeBytes - written));
  }
}
