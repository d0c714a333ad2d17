import { flushCompileCache } from 'node:module';

// What keeps the process small that starts everything and then waits. Decision one-waiting-process.

const AGAIN = '--again';

/**
 * The first start strips types, which takes 20 MB that never go back. What it has compiled is kept, so the process begins
 * anew, once, with the same number: nothing has been started yet.
 */
export function shedFirstLoad() {
  const { moduleLoadList = [] } = process as { moduleLoadList?: string[] }; // Node's own list, in no type
  const hasStripped = moduleLoadList.some((name) => name.includes('amaro'));
  const { argv, env, execArgv, execPath } = process;
  if (!hasStripped || !env.NODE_COMPILE_CACHE || argv.includes(AGAIN) || !process.execve) return;
  flushCompileCache();
  process.execve(execPath, [execPath, ...execArgv, ...argv.slice(1), AGAIN], env);
}

/** The npm that has started this, if one has; and nothing of how npm describes itself gets to what is started here. */
export function parentFromNpm(): number | undefined {
  const { env } = process;
  const parent = Number(env.MAYFLY_PARENT) || undefined;
  for (const name of Object.keys(env)) {
    if (/^(npm_|pnpm_|INIT_CWD$|MAYFLY_PARENT$)/i.test(name)) delete env[name];
  }
  return parent;
}
