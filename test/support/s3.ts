import { findMinio, startMinio } from '@mayfly/local-stores/minio';
import { startS3Fake } from '@mayfly/testing/s3-fake';

export type TestS3 = AsyncDisposable & {
  /** With key and secret in it. */
  url: string;
  /** What it is, for people. */
  about: string;
};

/** A real MinIO where this machine has one; else a fake of this project's own, and says so. */
export async function startS3(): Promise<TestS3> {
  const program = findMinio();
  const store = program ? await startMinio(program) : await startS3Fake();
  const url = new URL(store.url);
  const about =
    'version' in store
      ? `MinIO ${store.version} on port ${url.port}, started for the tests`
      : `a fake on port ${url.port} (no MinIO on this machine: CONTRIBUTING.md says how to get one)`;
  url.username = store.accessKey;
  url.password = store.secretKey;
  return { url: url.href, about, [Symbol.asyncDispose]: () => store[Symbol.asyncDispose]() };
}
