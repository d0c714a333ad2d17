import type { App } from '@mayfly/shared/app';
import { type Config, optional, parseUrl, setting } from '@mayfly/shared/config';

const PATH = '/.well-known/security.txt';
const DAY_MS = 86_400_000;
/** RFC 9116 wants less than a year. */
const GOOD_FOR_DAYS = 90;

/** Whom to write to, the preferred one first, as they are written in a line: `href` has no line breaks. */
const contacts = setting('mailto: or https:// addresses, separated by commas', (value) => {
  const all = value.split(',').map((part) => part.trim());
  return all.every((one) => parseUrl(one, ['mailto:', 'https:'])) ? all.map((one) => new URL(one).href) : undefined;
});
const languages = setting('language tags, separated by commas', (value) => {
  const all = value.split(',').map((part) => part.trim());
  return all.every((one) => /^[a-z]{2,3}(-[a-z0-9]{1,8})*$/i.test(one)) ? all : undefined;
});

export const securitySettings = {
  SECURITY_CONTACT: optional(
    contacts(undefined, 'whom to tell of security problems, in /.well-known/security.txt; no such file unless set'),
  ),
  SECURITY_LANGUAGES: languages('en', 'languages that they may be told in'),
};

/** `/.well-known/security.txt` (RFC 9116), where the operator has named a contact. It ends so many days after it was asked for. */
export function securityTxt(
  app: App,
  { SECURITY_CONTACT: contact, SECURITY_LANGUAGES: tags }: Partial<Config<typeof securitySettings>>,
  { baseUrl, now = Date.now }: { baseUrl: string | undefined; now?: (() => number) | undefined },
) {
  if (!contact) return;
  app.route({
    method: ['GET', 'HEAD'],
    url: PATH,
    schema: { hide: true },
    config: { isUncounted: true },
    async handler(_, reply) {
      const expires = new Date(Math.floor(now() / DAY_MS + GOOD_FOR_DAYS) * DAY_MS);
      const lines = [
        ...contact.map((one) => `Contact: ${one}`),
        `Expires: ${expires.toISOString()}`,
        ...(tags ? [`Preferred-Languages: ${tags.join(', ')}`] : []),
        ...(baseUrl ? [`Canonical: ${baseUrl.replace(/\/+$/, '')}${PATH}`] : []),
      ];
      reply.headers({ 'content-type': 'text/plain; charset=utf-8', 'cache-control': 'no-cache' });
      return `${lines.join('\n')}\n`;
    },
  });
}
