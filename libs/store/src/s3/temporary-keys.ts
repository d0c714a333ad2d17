import { readFile } from 'node:fs/promises';
import { type Config, ConfigError } from '@mayfly/shared/config';
import type { s3IdentitySettings } from '@mayfly/shared/s3-identity-settings';
import { request } from 'undici';

/** Keys that end by themselves. */
export type TemporaryKeys = { accessKey: string; secretKey: string; sessionToken: string; expiresAt: Date };

/** Asks for new keys. Rejects when there are none; what it says names no address and no secret. */
export type KeySource = () => Promise<TemporaryKeys>;

export type S3Identity = Partial<Config<typeof s3IdentitySettings>> & { S3_REGION: string };

const ANSWER_MS = 5_000;
/** In what AWS calls the sessions of a role, so that an operator finds them. */
const SESSION_NAME = 'mayfly';

/**
 * Where the settings say that keys come from; undefined when they are settings themselves. Throws ConfigError when something is missing for it.
 * Decision s3-keys-without-secrets.
 */
export function keySource(config: S3Identity): KeySource | undefined {
  const { S3_KEYS = 'settings' } = config;
  return S3_KEYS === 'settings' ? undefined : SOURCES[S3_KEYS](config);
}

const SOURCES = { 'web-identity': webIdentity, container, instance };

/** A token that somebody else keeps fresh in a file is exchanged for keys: AssumeRoleWithWebIdentity, of AWS, MinIO and Ceph. */
function webIdentity(config: S3Identity): KeySource {
  const { AWS_WEB_IDENTITY_TOKEN_FILE: path, AWS_ROLE_ARN: role, S3_REGION } = config;
  if (path === undefined) throw missing('AWS_WEB_IDENTITY_TOKEN_FILE');
  const endpoint = config.AWS_ENDPOINT_URL_STS ?? `https://sts.${S3_REGION}.amazonaws.com`;
  return async () => {
    const form = new URLSearchParams({
      Action: 'AssumeRoleWithWebIdentity',
      Version: '2011-06-15',
      ...(role === undefined ? {} : { RoleArn: role, RoleSessionName: SESSION_NAME }),
      WebIdentityToken: (await readFile(path, 'utf8')).trim(),
    });
    const xml = await ask(endpoint, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: form.toString(), // not in the address, which servers log
    });
    const field = (name: string) => new RegExp(`<${name}>\\s*([^<\\s]+)\\s*</${name}>`).exec(xml)?.[1];
    return keysOf({
      AccessKeyId: field('AccessKeyId'),
      SecretAccessKey: field('SecretAccessKey'),
      Token: field('SessionToken'),
      Expiration: field('Expiration'),
    });
  };
}

/** A service beside the container gives them: EKS Pod Identity, ECS, Fargate. */
function container(config: S3Identity): KeySource {
  const { AWS_CONTAINER_CREDENTIALS_FULL_URI, AWS_CONTAINER_CREDENTIALS_RELATIVE_URI } = config;
  const { AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: path } = config;
  const address =
    AWS_CONTAINER_CREDENTIALS_FULL_URI ??
    (AWS_CONTAINER_CREDENTIALS_RELATIVE_URI && `http://169.254.170.2${AWS_CONTAINER_CREDENTIALS_RELATIVE_URI}`);
  if (!address) throw missing('AWS_CONTAINER_CREDENTIALS_FULL_URI');
  return async () => {
    const headers = path === undefined ? {} : { authorization: (await readFile(path, 'utf8')).trim() };
    return keysOf(parse(await ask(address, { method: 'GET', headers })));
  };
}

/** The machine gives them: EC2, by version 2 of its metadata service. */
function instance({ AWS_EC2_METADATA_SERVICE_ENDPOINT: endpoint }: S3Identity): KeySource {
  if (endpoint === undefined) throw missing('AWS_EC2_METADATA_SERVICE_ENDPOINT');
  return async () => {
    const token = await ask(new URL('/latest/api/token', endpoint).href, {
      method: 'PUT',
      headers: { 'x-aws-ec2-metadata-token-ttl-seconds': '60' },
    });
    const get = (path: string) =>
      ask(new URL(`/latest/meta-data/iam/security-credentials/${path}`, endpoint).href, {
        method: 'GET',
        headers: { 'x-aws-ec2-metadata-token': token },
      });
    const [role = ''] = (await get('')).split('\n');
    return keysOf(JSON.parse(await get(encodeURIComponent(role.trim()))));
  };
}

type Question = { method: 'GET' | 'POST' | 'PUT'; headers: Record<string, string>; body?: string };

async function ask(url: string, question: Question): Promise<string> {
  const { statusCode, body } = await request(url, { ...question, signal: AbortSignal.timeout(ANSWER_MS) });
  const text = await body.text();
  if (statusCode === 200) return text;
  const [, code = ''] = /<Code>(\w+)<\/Code>/.exec(text) ?? [];
  throw new Error(`the service that gives keys for S3 answered ${statusCode} ${code}`.trimEnd());
}

type Answer = Partial<Record<'AccessKeyId' | 'SecretAccessKey' | 'Token' | 'Expiration', string | undefined>>;

/** A parser's own words would hold a piece of what it was given. */
function parse(text: string): Answer {
  try {
    return JSON.parse(text) ?? {};
  } catch {
    return {}; // there are no keys in it
  }
}

function keysOf({ AccessKeyId, SecretAccessKey, Token, Expiration }: Answer): TemporaryKeys {
  const expiresAt = new Date(Expiration ?? '');
  if (!AccessKeyId || !SecretAccessKey || !Token || Number.isNaN(expiresAt.getTime())) {
    throw new Error('the service that gives keys for S3 gave none');
  }
  return { accessKey: AccessKeyId, secretKey: SecretAccessKey, sessionToken: Token, expiresAt };
}

const missing = (name: string) => new ConfigError(`Bad settings: ${name} is missing (S3_KEYS).`);
