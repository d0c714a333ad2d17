import { delimiter } from 'node:path';

/**
 * npm describes itself to what it runs in npm_* variables, and a nested npm or pnpm obeys them: it would install into
 * the wrong folder or skip things. What remains is what a person sets to reach a registry.
 */
const KEPT = new Set([
  ...['registry', 'proxy', 'https_proxy', 'http_proxy', 'noproxy', 'cafile', 'ca', 'cert', 'key', 'strict_ssl'],
  ...[
    'userconfig',
    'globalconfig',
    'cache',
    'store_dir',
    'fetch_retries',
    'fetch_timeout',
    'maxsockets',
    'network_concurrency',
  ],
]);

/** Variables of one scope or one registry: npm_config_@scope:registry, npm_config_//host/:_authToken. */
const OF_A_REGISTRY = /^npm_config_(@|\/\/)/i;

function isKept(name, value) {
  if (!/^(npm_|pnpm_|INIT_CWD$)/i.test(name)) return true;
  if (OF_A_REGISTRY.test(name)) return true;
  return /^npm_config_/i.test(name) && value !== '' && KEPT.has(name.slice('npm_config_'.length).toLowerCase());
}

/** This process's environment for the programs it starts, which find the given folder's programs first. */
export function childEnvironment(binFolder, extra = {}) {
  const env = Object.fromEntries(Object.entries(process.env).filter(([name, value]) => isKept(name, value)));
  const path = [binFolder, process.env.PATH].filter(Boolean).join(delimiter);
  return { ...env, PATH: path, ...extra };
}
