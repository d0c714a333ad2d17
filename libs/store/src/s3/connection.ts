import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { ConfigError } from '@mayfly/shared/config';
import { Client, type ClientOptions } from 'minio';
import { Agent } from 'undici';
import type { S3Patience } from './patience.ts';
import { unavailable } from './payloads.ts';
import type { TemporaryKeys } from './temporary-keys.ts';

export type S3Config = {
  S3_ENDPOINT: string;
  S3_REGION: string;
  S3_BUCKET: string;
  S3_PATH_STYLE: 'true' | 'false';
  S3_ACCESS_KEY?: string | undefined;
  S3_SECRET_KEY?: string | undefined;
  /** In place of the two above: keys that end. */
  keys?: (() => Promise<TemporaryKeys>) | undefined;
};

/** A payload that nobody takes is not read ahead: the system's own buffers are enough. Decision memory-per-client. */
const READ_ONLY_WHAT_IS_TAKEN = { highWaterMark: undefined, readableHighWaterMark: 0 };

/** The library's client with what it keeps to itself. */
class PartsClient extends Client {
  async partsOf(bucket: string, name: string, uploadId: string) {
    const all = await this.listParts(bucket, name, uploadId);
    return all.map(({ part, size, etag }) => ({ number: part, bytes: size, tag: etag }));
  }

  /** Unavailable when there are no keys to sign with. */
  override presignedUrl(...call: Parameters<Client['presignedUrl']>): Promise<string> {
    return super.presignedUrl(...call).catch((error: unknown) => {
      throw unavailable(error);
    });
  }
}

/**
 * The library's client, for all that is small: signing, bucket, bulk deletes, listing. Its requests end when the store is
 * silent for too long, which it cannot do by itself.
 */
export function openClient(config: S3Config, { answerMs }: S3Patience): PartsClient {
  const { protocol, hostname, port, pathname } = new URL(config.S3_ENDPOINT);
  if (pathname !== '/') throw new ConfigError('S3_ENDPOINT must not have a path.');
  const useSSL = protocol === 'https:';
  const send = useSSL ? httpsRequest : httpRequest;
  const transport = {
    request: (options: object, answered: never) =>
      send({ ...options, signal: AbortSignal.timeout(answerMs) }, answered),
  };
  return new PartsClient({
    endPoint: hostname,
    port: Number(port) || (useSSL ? 443 : 80),
    useSSL,
    region: config.S3_REGION, // known here, it need not be asked for
    pathStyle: config.S3_PATH_STYLE === 'true',
    ...(config.keys
      ? { credentialsProvider: provider(config.keys) }
      : { accessKey: config.S3_ACCESS_KEY ?? '', secretKey: config.S3_SECRET_KEY ?? '' }),
    retryOptions: { disableRetry: true },
    transport: transport as unknown as NonNullable<ClientOptions['transport']>, // it calls request(options, callback) only
  });
}

/** The library asks for keys before each request. */
function provider(keys: () => Promise<TemporaryKeys>) {
  const getCredentials = async () => {
    const { accessKey, secretKey, sessionToken } = await keys();
    return { getAccessKey: () => accessKey, getSecretKey: () => secretKey, getSessionToken: () => sessionToken };
  };
  return { getCredentials } as unknown as NonNullable<ClientOptions['credentialsProvider']>; // it calls nothing else
}

/** Connections for payloads: each carries one at a time, so there are as many as payloads on their way. */
export function openPayloadAgent({ answerMs, stallMs }: S3Patience): Agent {
  return new Agent({
    pipelining: 1,
    connect: { timeout: 5_000, ...READ_ONLY_WHAT_IS_TAKEN },
    headersTimeout: answerMs,
    bodyTimeout: stallMs,
    keepAliveTimeout: 4_000, // shorter than the store's own: a request must not meet a connection that is just closing
    keepAliveMaxTimeout: 4_000,
  });
}
