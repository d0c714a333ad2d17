import { startProgram } from '@mayfly/launcher/program';
import { startService, untilAnswered, untilHealthy } from '@mayfly/launcher/service';
import { CannotStart } from '@mayfly/local-stores/problem';
import { expect, test } from 'vitest';

const runs = (script: string, stopMs = 15_000) => startProgram(process.execPath, ['--eval', script], {}, { stopMs });

test('a service that ends at once is reported with what it printed last', async () => {
  await using service = await startService('all', { DATABASE_URL: 'nowhere' });
  const waiting = untilHealthy(service);
  await expect(waiting).rejects.toThrow(CannotStart);
  await expect(waiting).rejects.toThrow(/^Mayfly \(all\) ended with code 1\.\n.*DATABASE_URL/);
});

test('what is asked is the address, and what is waited for is the answer', async () => {
  const script = `let asked = 0; require('node:http').createServer((request, response) => {
    response.writeHead(asked++ < 2 ? 503 : 200, { 'content-length': request.url.length }).end(request.url);
  }).listen(0, function () { console.log(this.address().port) })`;
  await using program = runs(script);
  await expect.poll(program.output).toMatch(/\d+\n/);
  const url = `http://127.0.0.1:${program.output().trim()}`;
  const service = Object.assign(program, { name: 'one of a test', url });
  const seen: number[] = [];
  const body = await untilAnswered(service, `${url}/some/path`, (status, text) => {
    seen.push(status);
    return status === 200 ? text : undefined;
  });
  expect([body, seen]).toEqual(['/some/path', [503, 503, 200]]);
});

test('a program that does not care about SIGTERM is killed', async () => {
  const program = runs(`process.on('SIGTERM', () => {}); setInterval(() => {}, 1000); console.log('there')`, 200);
  await expect.poll(program.output).toBe('there\n');
  await program.stop();
  expect(await program.exited).toBe('ended by SIGKILL');
});

test('a program that is not there is one that has ended', async () => {
  await using program = startProgram('/nowhere/at/all', [], {});
  expect(await program.exited).toContain('ENOENT');
});

test('a restart is another process, and what both printed is kept', async () => {
  await using program = runs(`console.log('one more')`);
  const { child, exited } = program;
  await exited;
  program.restart();
  expect(program.child).not.toBe(child);
  await expect.poll(program.output).toBe('one more\none more\n');
});
