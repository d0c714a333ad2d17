import { execFileSync, spawnSync } from 'node:child_process';
import { describe, expect, test } from 'vitest';
import { completion, SHELLS } from '../src/completion.ts';
import { buildProgram } from '../src/program.ts';

const program = buildProgram('0', () => Promise.reject(new Error('no command is run')));
const isThere = (shell: string) => spawnSync(shell, ['-c', 'true']).status === 0;

describe.skipIf(!isThere('bash'))('bash (else skipped)', () => {
  test.each([
    ['a command', ['mayfly', 'se'], ['send']],
    ['any command', ['mayfly', ''], program.commands.map((command) => command.name())],
    ['an option of a command', ['mayfly', 'get', '--o'], ['--output', '--only']],
    ['an option behind other words', ['mayfly', 'list', 'x', '--p'], ['--prune']],
    ['nothing itself where a file may be: bash does', ['mayfly', 'send', 're'], []],
  ])('completes %s', (_, words, expected) => {
    const quoted = words.map((word) => `'${word}'`).join(' ');
    const ask = `COMP_WORDS=(${quoted}); COMP_CWORD=${words.length - 1}; _mayfly; printf '%s\\n' "\${COMPREPLY[@]}"`;
    const found = execFileSync('bash', ['-c', `${completion('bash', program)}\n${ask}`], { encoding: 'utf8' });
    expect(found.split('\n').filter(Boolean)).toEqual(expected);
  });
});

describe.each(SHELLS)('%s', (shell) => {
  test('names every command and option', () => {
    const script = completion(shell, program);
    for (const { commands, options } of [program, ...program.commands].map((command) => command)) {
      for (const command of commands) expect(script).toContain(command.name());
      if (commands.length > 0) continue; // the program's own option is --version
      for (const { long } of options) expect(script).toContain(shell === 'fish' ? `-l ${long?.slice(2)}` : long);
    }
  });

  test.skipIf(!isThere(shell))('is understood by the shell (skipped where there is none)', () => {
    const { status, stderr } = spawnSync(shell, ['-n'], { input: completion(shell, program), encoding: 'utf8' });
    expect([status, stderr]).toEqual([0, '']);
  });
});
