import { execFileSync } from 'node:child_process';
import { resolve } from 'node:path';
import { ConfigError, loadConfig } from '@mayfly/shared/config';
import { expect, test } from 'vitest';
import { pushKeysIn } from '../src/notices/push-keys.ts';
import { noticeSenderSettings } from '../src/settings.ts';

const command = resolve(import.meta.dirname, '../../../scripts/admin.ts');
/** Without stores, and without the settings of this process. */
const newKeys = (): Record<string, string> => {
  const { PATH, HOME } = process.env;
  const text = execFileSync(process.execPath, [command, 'push-keys'], { env: { PATH, HOME }, encoding: 'utf8' });
  return Object.fromEntries(
    text
      .trim()
      .split('\n')
      .map((line) => line.split('=')),
  );
};
const keysIn = (env: Record<string, string>) => pushKeysIn(loadConfig(noticeSenderSettings, env));

test('the pair that the command makes is taken; half of one, or halves of two, are refused at the start', {
  timeout: 120_000,
}, () => {
  const [pair, other] = [newKeys(), newKeys()];
  const contact = { PUSH_CONTACT: 'mailto:operator@mayfly.example' };
  expect(Object.keys(pair)).toEqual(['PUSH_PUBLIC_KEY', 'PUSH_PRIVATE_KEY']);
  expect(keysIn({ ...pair, ...contact })).toEqual({
    publicKey: pair.PUSH_PUBLIC_KEY,
    privateKey: pair.PUSH_PRIVATE_KEY,
    contact: contact.PUSH_CONTACT,
  });
  expect(keysIn({})).toBeUndefined();
  expect(() => keysIn(pair)).toThrow(ConfigError);
  const { PUSH_PUBLIC_KEY = '' } = pair;
  expect(() => keysIn({ PUSH_PUBLIC_KEY, ...contact })).toThrow(ConfigError);
  expect(() => keysIn({ ...other, PUSH_PUBLIC_KEY, ...contact })).toThrow(ConfigError);
  expect(() => keysIn({ ...pair, PUSH_CONTACT: 'somebody' })).toThrow(ConfigError);
  expect(() => keysIn({ ...pair, ...contact, PUSH_PUBLIC_KEY: 'AAAA' })).toThrow(ConfigError);
});
