import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** Runs an operator's command on the stores that the settings name. */
export function runAdmin(args: string[], settings: Record<string, string>) {
  return new Promise<{ code: number; stdout: string; stderr: string }>((resolve) => {
    const { PATH, NODE_COMPILE_CACHE } = process.env;
    const env = { PATH, NODE_COMPILE_CACHE, ...settings };
    const command = [`${root}services/janitor/src/admin.ts`, ...args];
    execFile(process.execPath, command, { cwd: root, env, timeout: 60_000 }, (error, stdout, stderr) =>
      resolve({ code: error ? Number(error.code ?? 1) : 0, stdout, stderr }),
    );
  });
}
