import { readFileSync, statSync } from 'node:fs';
import { extname } from 'node:path';
import { type Config, ConfigError, color, line, linkTarget, optional, text } from '@mayfly/shared/config';
import { LOGO_POLICY } from '@mayfly/vocabulary/pages';
import { type WebFile, webFile } from './web-file.ts';

export const brandSettings = {
  BRAND_NAME: optional(line(40)(undefined, 'what the pages call this service; Mayfly unless set')),
  BRAND_COLOR: optional(
    color(undefined, 'colour of buttons and links on the pages; made lighter or darker where it would be hard to read'),
  ),
  BRAND_LOGO: optional(text(undefined, 'file with the logo of the pages: SVG or PNG, at most 64 KiB')),
  LINK_PRIVACY: optional(linkTarget(undefined, 'privacy notice that the pages link to')),
  LINK_IMPRINT: optional(linkTarget(undefined, 'legal notice that the pages link to')),
  LINK_REPORT: optional(linkTarget(undefined, 'where the pages say that abuse can be reported')),
};

/** What `/brand.json` says: only what the operator has set. */
type Brand = {
  name?: string;
  /** `#rrggbb`. */
  color?: string;
  /** Path of the logo. */
  logo?: string;
  /** Addresses by what they are for. */
  links?: { privacy?: string; imprint?: string; report?: string };
};

const LOGO_ENDINGS = ['.svg', '.png'];
const LOGO_MOST_BYTES = 64 * 1024;

/**
 * What the operator's brand adds to the web app, by path. It is apart from the app itself, whose files stay the published ones.
 * Throws ConfigError when the logo cannot be read. Decision operators-brand.
 */
export function brandFiles(config: Partial<Config<typeof brandSettings>>): Map<string, WebFile> {
  const files = new Map<string, WebFile>();
  const brand: Brand = {};
  const { BRAND_NAME: name, BRAND_COLOR: color, BRAND_LOGO: logo } = config;
  const { LINK_PRIVACY: privacy, LINK_IMPRINT: imprint, LINK_REPORT: report } = config;
  if (name) brand.name = name;
  if (color) brand.color = color;
  if (logo) {
    brand.logo = `/brand-logo${extname(logo)}`;
    files.set(brand.logo, { ...webFile(readLogo(logo), logo, 'no-cache'), policy: LOGO_POLICY });
  }
  const links = { ...(privacy ? { privacy } : {}), ...(imprint ? { imprint } : {}), ...(report ? { report } : {}) };
  if (Object.keys(links).length > 0) brand.links = links;
  files.set('/brand.json', webFile(Buffer.from(JSON.stringify(brand)), 'brand.json', 'no-cache'));
  return files;
}

function readLogo(path: string): Buffer {
  if (!LOGO_ENDINGS.includes(extname(path)))
    throw new ConfigError('BRAND_LOGO must be a file whose name ends with .svg or .png');
  try {
    if (statSync(path).size <= LOGO_MOST_BYTES) return readFileSync(path);
  } catch (cause) {
    throw new ConfigError('the file named by BRAND_LOGO cannot be read', { cause });
  }
  throw new ConfigError('the file named by BRAND_LOGO is larger than 64 KiB');
}
