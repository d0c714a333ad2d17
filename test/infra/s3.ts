import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findMinio, startMinio } from '@mayfly/local-stores/minio';
import { freePort } from '@mayfly/local-stores/ports';

export type TestS3 = AsyncDisposable & {
  /** With key and secret in it. */
  url: string;
  /** What it is, for people. */
  about: string;
};

/** A real MinIO where this machine has one; else a stand-in that speaks enough of the protocol, and says so. */
export async function startS3(): Promise<TestS3> {
  const program = findMinio();
  if (!program) return startStandIn();
  const minio = await startMinio(program);
  const url = new URL(minio.url);
  url.username = minio.accessKey;
  url.password = minio.secretKey;
  return {
    url: url.href,
    about: `MinIO ${minio.version} on port ${url.port}, started for the tests`,
    [Symbol.asyncDispose]: () => minio[Symbol.asyncDispose](),
  };
}

async function startStandIn(): Promise<TestS3> {
  const { default: S3rver } = await import('@20minutes/s3rver');
  const directory = mkdtempSync(join(tmpdir(), 'mayfly-s3-'));
  const port = await freePort();
  const server = new S3rver({ address: '127.0.0.1', port, directory, silent: true });
  await server.run();
  return {
    url: `http://S3RVER:S3RVER@127.0.0.1:${port}`,
    about: `the stand-in s3rver on port ${port} (no MinIO on this machine: CONTRIBUTING.md says how to get one)`,
    async [Symbol.asyncDispose]() {
      await server.close();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}
