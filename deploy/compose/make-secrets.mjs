// node make-secrets.mjs FOLDER: makes each password that is not there yet, and the files that repeat one. It depends on
// nothing, prints no secret, and changes none that exists: to rotate one, remove its file (docs/operations.md).
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const folder = process.argv[2];
if (!folder) {
  console.error('Usage: node make-secrets.mjs FOLDER');
  process.exit(2);
}

/** Whole or not at all. Readable by the accounts of all images: who may see it is decided by who mounts the volume. */
function write(path, text) {
  if (existsSync(path) && readFileSync(path, 'utf8') === text) return;
  const draft = `${path}.new`;
  writeFileSync(draft, text, { mode: 0o444 });
  renameSync(draft, path);
}

/** The secret in a file; a new one of that many random bytes when there is none. */
function secret(path, bytes) {
  if (!existsSync(path)) {
    write(path, randomBytes(bytes).toString('hex'));
    console.log(`made ${path}`);
  }
  return readFileSync(path, 'utf8').trim();
}

const at = (...names) => join(folder, ...names);
for (const name of ['postgres', 'redis', 's3']) mkdirSync(at(name), { recursive: true });

const postgres = secret(at('postgres', 'password'), 24);
write(at('postgres', 'url'), `postgres://mayfly:${postgres}@postgres:5432/mayfly`);

const redis = secret(at('redis', 'password'), 24);
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

secret(at('s3', 'access-key'), 10);
secret(at('s3', 'secret-key'), 24);
