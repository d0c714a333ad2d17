// The first thing that npm test, npm run check and ./mayfly do (npm start: start.sh). It runs on the Node that the machine has (20 or later)
// without any dependency, gets what the project needs, and hands over to scripts/<command>.ts on a Node that reads it.
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { childEnvironment } from './bootstrap/environment.mjs';
import { installDependencies } from './bootstrap/install.mjs';
import { Problem, say } from './bootstrap/progress.mjs';
import { runToEnd, stopWithParent } from './bootstrap/run-child.mjs';
import { chooseNode } from './bootstrap/toolchain.mjs';

const root = dirname(import.meta.dirname ?? new URL('.', import.meta.url).pathname.slice(0, -1));

async function main() {
  const [command = '', ...args] = process.argv.slice(2);
  const script = join(root, 'scripts', `${command}.ts`);
  if (!/^[a-z]+$/.test(command) || !existsSync(script)) {
    throw new Problem('Usage: node scripts/run.mjs test|check|admin|bench|trace|mayfly [arguments]');
  }
  stopWithParent();
  const node = await chooseNode(root);
  await installDependencies(root, node);
  // Compiled code is kept for the next start: quicker, and less memory, since nothing is stripped of its types again.
  const compileCache = process.env.NODE_COMPILE_CACHE ?? join(root, '.cache', 'compiled');
  const env = childEnvironment(dirname(node), { NODE_COMPILE_CACHE: compileCache });
  // The command line's paths are those of the folder that it was called in.
  const cwd = command === 'mayfly' ? process.cwd() : root;
  return runToEnd(node, [script, ...args], { cwd, env });
}

try {
  const { code, signal } = await main();
  // Ending the same way as the command tells the caller the same thing.
  if (signal) process.kill(process.pid, signal);
  else process.exitCode = code;
} catch (error) {
  say(error instanceof Problem ? error.message : error.stack);
  process.exitCode = 1;
}
