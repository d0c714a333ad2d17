import { execFile, spawn } from 'node:child_process';
import { promisify } from 'node:util';
import { findProgram } from './find-program.ts';
import { CannotStart } from './problem.ts';

export type RedisProgram = { path: string; version: string };

/** Valkey is the same server under another name. */
const NAMES = ['redis-server', 'valkey-server'];
/** The first with LPOP key count. */
const MINIMUM = [6, 2];

type PackageManager = {
  program: string;
  asRoot: boolean;
  /** What a person would type. */
  hint: string;
  commands: string[];
};

const PACKAGE_MANAGERS: PackageManager[] = [
  {
    program: 'apt-get',
    asRoot: true,
    hint: 'apt-get install redis-server',
    commands: ['apt-get update', 'apt-get install --yes --no-install-recommends redis-server'],
  },
  {
    program: 'dnf',
    asRoot: true,
    hint: 'dnf install redis',
    commands: ['dnf install -y redis || dnf install -y valkey'],
  },
  { program: 'apk', asRoot: true, hint: 'apk add redis', commands: ['apk add --no-cache redis'] },
  { program: 'pacman', asRoot: true, hint: 'pacman -S valkey', commands: ['pacman -Sy --noconfirm valkey'] },
  { program: 'brew', asRoot: false, hint: 'brew install redis', commands: ['brew install redis'] },
];

/** The Redis of this machine, installed first when it can be. Throws CannotStart with what to install when not. */
export async function findRedis(say: (line: string) => void = () => {}, signal?: AbortSignal): Promise<RedisProgram> {
  const path = findProgram(NAMES) ?? (await install(say, signal));
  const { stdout } = await promisify(execFile)(path, ['--version']);
  const version = /v=([\d.]+)/.exec(stdout)?.[1] ?? '0';
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const [leastMajor = 0, leastMinor = 0] = MINIMUM;
  if (major < leastMajor || (major === leastMajor && minor < leastMinor)) {
    throw new CannotStart(
      `${path} is version ${version}, and ${MINIMUM.join('.')} is the oldest that works; set REDIS_URL to a newer one.`,
    );
  }
  return { path, version };
}

async function install(say: (line: string) => void, signal?: AbortSignal): Promise<string> {
  const isRoot = process.getuid?.() === 0;
  const manager = PACKAGE_MANAGERS.find(({ program }) => findProgram([program]));
  if (!manager || manager.asRoot !== isRoot) {
    const how = manager ? ` (${manager.asRoot ? 'as root: ' : ''}${manager.hint})` : '';
    throw new CannotStart(`Redis is missing: install redis-server${how}, or set REDIS_URL to one that runs elsewhere.`);
  }
  say(`Installing Redis with ${manager.program} (it is missing) ...`);
  let log = '';
  for (const command of manager.commands) {
    const { code, output } = await run(command, signal);
    log = output;
    if (code !== 0) break;
  }
  const path = findProgram(NAMES);
  if (path) return path;
  const reason = log.trim().split('\n').at(-1) ?? '';
  throw new CannotStart(
    `Redis is missing, and "${manager.hint}" did not help (${reason}): install redis-server or set REDIS_URL.`,
  );
}

function run(command: string, signal?: AbortSignal): Promise<{ code: number; output: string }> {
  return new Promise((resolve) => {
    const child = spawn('/bin/sh', ['-c', `(${command}) 2>&1`], {
      stdio: ['ignore', 'pipe', 'inherit'],
      env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
      ...(signal ? { signal } : {}),
    });
    let output = '';
    child.stdout.on('data', (chunk) => {
      output += chunk;
    });
    child.once('error', (error) => resolve({ code: 1, output: error.message }));
    child.once('close', (code) => resolve({ code: code ?? 1, output }));
  });
}
