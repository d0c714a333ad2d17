import { type Config, choice } from '@mayfly/shared/config';

export const integritySettings = {
  INTEGRITY_POLICY: choice(
    ['off', 'report', 'enforce'],
    'off',
    'whether browsers refuse scripts of pages that come without a hash, or only say so in their console',
  ),
  WAICT: choice(
    ['off', 'report'],
    'off',
    'whether browsers that know WAICT are told which files the pages consist of, and report others',
  ),
};

const INTEGRITY_HEADERS = {
  report: 'integrity-policy-report-only',
  enforce: 'integrity-policy',
};

/** Headers of the document by which browsers demand hashes; none unless set. Decision hashes-that-browsers-demand. */
export function integrityHeaders({ INTEGRITY_POLICY: mode }: Config<typeof integritySettings>): Record<string, string> {
  return mode === 'off' ? {} : { [INTEGRITY_HEADERS[mode]]: 'blocked-destinations=(script)' };
}
