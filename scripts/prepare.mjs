// The first thing that npm start does. It runs on the Node that the machine has (20 or later) without any dependency, gets what the
// project needs, prints the path of the Node that reads the rest, and ends.
import { dirname } from 'node:path';
import { installDependencies } from './bootstrap/install.mjs';
import { Problem, say } from './bootstrap/progress.mjs';
import { stopWithParent, wasStopped } from './bootstrap/run-child.mjs';
import { chooseNode } from './bootstrap/toolchain.mjs';

const root = dirname(import.meta.dirname ?? new URL('.', import.meta.url).pathname.slice(0, -1));

try {
  stopWithParent();
  const node = await chooseNode(root);
  await installDependencies(root, node);
  if (wasStopped()) process.exit(130);
  console.log(node);
} catch (error) {
  say(error instanceof Problem ? error.message : error.stack);
  process.exitCode = 1;
}
