import { choice, httpUrl, optional, text } from './config.ts';

/** Keys of the S3 store that nobody has to keep. The names that begin with AWS are those that platforms set by themselves. Decision s3-keys-without-secrets. */
export const s3IdentitySettings = {
  S3_KEYS: choice(
    ['settings', 'web-identity', 'container', 'instance'],
    'settings',
    'where the keys of the S3 store come from: S3_ACCESS_KEY and S3_SECRET_KEY; a token that is exchanged for keys (IRSA); a service beside the container (EKS Pod Identity, ECS); the machine (EC2)',
  ),
  AWS_WEB_IDENTITY_TOKEN_FILE: optional(
    text(undefined, 'file with the token that is exchanged for keys of the S3 store; read again for each exchange'),
  ),
  AWS_ROLE_ARN: optional(text(undefined, 'role whose keys the token is exchanged for')),
  AWS_ENDPOINT_URL_STS: optional(
    httpUrl(undefined, 'where the token is exchanged (STS); that of AWS in S3_REGION unless set'),
  ),
  AWS_CONTAINER_CREDENTIALS_FULL_URI: optional(
    httpUrl(undefined, 'service beside the container that gives keys of the S3 store'),
  ),
  AWS_CONTAINER_CREDENTIALS_RELATIVE_URI: optional(text(undefined, 'the same, as a path on 169.254.170.2')),
  AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: optional(
    text(undefined, 'file with the token for that service; read again each time'),
  ),
  AWS_EC2_METADATA_SERVICE_ENDPOINT: httpUrl(
    'http://169.254.169.254',
    'metadata service of the machine, which gives keys of the S3 store',
  ),
};
