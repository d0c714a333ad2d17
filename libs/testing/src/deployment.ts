import { s3Blobs } from './blobs.ts';

/** A service that runs already, and the ways to its stores: what TEST_DEPLOYMENT holds, as JSON. */
export type Deployment = {
  baseUrl: string;
  databaseUrl: string;
  redisUrl: string;
  s3: { S3_ENDPOINT: string; S3_REGION: string; S3_BUCKET: string; S3_ACCESS_KEY: string; S3_SECRET_KEY: string };
};

/** The deployment that the tests are told to run on, instead of on shapes that they start. */
export function deployment(): Deployment | undefined {
  const { TEST_DEPLOYMENT } = process.env;
  return TEST_DEPLOYMENT ? (JSON.parse(TEST_DEPLOYMENT) as Deployment) : undefined;
}

/** It is only looked at: whoever started it stops it. Its processes are out of reach, so nothing is measured on them. */
export async function attach({ baseUrl, databaseUrl, redisUrl, s3 }: Deployment) {
  const blobs = await s3Blobs({ ...s3, S3_PATH_STYLE: 'true' }, { isOwn: false });
  return {
    baseUrls: [baseUrl],
    baseUrl,
    databaseUrl,
    redisUrl,
    blobs,
    gateways: [],
    processes: [],
    [Symbol.asyncDispose]: () => blobs[Symbol.asyncDispose](),
  };
}
