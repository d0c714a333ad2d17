// node make-secrets.mjs FOLDER: makes each password that is not there yet, and the files that repeat one. It depends on
// nothing, prints no secret, and changes none that exists but those that are named, to rotate them (docs/operations.md):
// node make-secrets.mjs FOLDER redis/password
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const ROTATED = ['postgres/password', 'redis/password', 's3/secret-key'];
const [folder, ...rotated] = process.argv.slice(2);
if (!folder || rotated.some((name) => !ROTATED.includes(name))) {
  console.error(`Usage: node make-secrets.mjs FOLDER [${ROTATED.join('] [')}]`);
  process.exit(2);
}

/** Whole or not at all. Readable by the accounts of all images: who may see it is decided by who mounts the volume. */
function write(path, text) {
  if (existsSync(path) && readFileSync(path, 'utf8') === text) return;
  const draft = `${path}.new`;
  writeFileSync(draft, text, { mode: 0o444 });
  renameSync(draft, path);
}

/** The secret in a file; a new one of that many random bytes when there is none, or when it was named. */
function secret(service, name, bytes) {
  const path = join(folder, service, name);
  if (!existsSync(path) || rotated.includes(`${service}/${name}`)) {
    write(path, randomBytes(bytes).toString('hex'));
    console.log(`made ${path}`);
  }
  return readFileSync(path, 'utf8').trim();
}

const at = (...names) => join(folder, ...names);
for (const name of ['postgres', 'redis', 's3']) mkdirSync(at(name), { recursive: true });

const postgres = secret('postgres', 'password', 24);
write(at('postgres', 'url'), `postgres://mayfly:${postgres}@postgres:5432/mayfly`);

const redis = secret('redis', 'password', 24);
write(at('redis', 'url'), `redis://:${redis}@redis:6379`);
write(
  at('redis', 'redis.conf'),
  [
    `requirepass ${redis}`,
    'save ""',
    'appendonly no', // who asked and when never gets to a disk
    'maxmemory 256mb',
    'maxmemory-policy noeviction', // jobs and counters are not a cache
    '',
  ].join('\n'),
);

secret('s3', 'access-key', 10);
secret('s3', 'secret-key', 24);
