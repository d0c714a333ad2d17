import { randomUUID } from 'node:crypto';
import { ConfigError } from '@mayfly/shared/config';
import { type Client, S3Error } from 'minio';
import { type Dispatcher, request } from 'undici';
import { unavailable } from './payloads.ts';

/** What S3 answers when the keys or what they may do are wrong; more tries do not help. */
const REFUSED = ['InvalidAccessKeyId', 'SignatureDoesNotMatch', 'AccessDenied', 'Forbidden'];

/** Whether the bucket is there. Throws ConfigError when the keys are wrong, Unavailable when the store does not answer. */
export function bucketExists(client: Client, bucket: string): Promise<boolean> {
  return client.bucketExists(bucket).catch(rejectInWords);
}

/** Makes the bucket; fine when it is there. */
export async function createBucket(client: Client, bucket: string, region: string): Promise<void> {
  if (await bucketExists(client, bucket)) return;
  try {
    await client.makeBucket(bucket, region);
  } catch (error) {
    if (!(await bucketExists(client, bucket))) rejectInWords(error); // else another replica made it at the same time
  }
}

/**
 * Asks for the list and for one payload as a stranger would: an S3 vendor's own ways to make a bucket public are many. Throws
 * ConfigError when one of them is answered.
 */
export async function assertPrivate(client: Client, bucket: string, dispatcher: Dispatcher): Promise<void> {
  await askAsStranger(client, bucket, dispatcher).catch(rejectInWords);
}

function rejectInWords(error: unknown): never {
  if (error instanceof ConfigError) throw error;
  if (error instanceof S3Error && REFUSED.includes(String(error.code))) {
    throw new ConfigError(
      'The S3 store refuses the keys (S3_ACCESS_KEY and S3_SECRET_KEY, or what S3_KEYS gets) for the bucket S3_BUCKET.',
      {
        cause: error,
      },
    );
  }
  throw unavailable(error);
}

async function askAsStranger(client: Client, bucket: string, dispatcher: Dispatcher) {
  const probe = `${randomUUID()}.bin`; // named as a payload, so that the janitor finds one that a crash leaves
  await client.putObject(bucket, probe, Buffer.from('probe'), 5);
  try {
    const address = new URL(await client.presignedGetObject(bucket, probe, 60));
    address.search = '';
    const list = new URL(address);
    list.pathname = list.pathname.slice(0, -probe.length);
    list.search = '?list-type=2&max-keys=1';
    for (const url of [address, list]) {
      const { statusCode, body } = await request(url, { dispatcher });
      await body.dump();
      if (statusCode === 200) {
        throw new ConfigError('The bucket S3_BUCKET can be read without a key. Make it private, then start again.');
      }
    }
  } finally {
    await client.removeObject(bucket, probe);
  }
}
