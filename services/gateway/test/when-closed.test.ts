import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { createApp } from '@mayfly/shared/app';
import { loadConfig } from '@mayfly/shared/config';
import { bodySettings } from '@mayfly/shared/settings';
import { expect, test } from 'vitest';
import { localUpstream } from '../src/index.ts';
import { fairnessSettings, limitSettings, workSettings } from '../src/settings.ts';
import { silent, startGateway } from './start-gateway.ts';

test('a download through one process, limits and all, makes Node warn of no leak', async () => {
  const warnings: string[] = [];
  const hear = ({ message }: Error) => warnings.push(message);
  process.on('warning', hear);
  await using stack = new AsyncDisposableStack();
  stack.defer(() => void process.off('warning', hear));
  const service = stack.adopt(createApp({ logger: silent }), (app) => app.close());
  service.get('/api/download/:id', async (_request, reply) => reply.send(Readable.from(['all', ' of it'])));
  const settings = loadConfig({ ...limitSettings, ...workSettings, ...fairnessSettings, ...bodySettings }, {});
  const { url } = stack.use(await startGateway(await localUpstream(service), { settings }));
  expect(await (await fetch(`${url}/api/download/x`)).text()).toBe('all of it');
  await sleep(10); // warnings come in a turn of their own
  expect(warnings).toEqual([]);
});
