import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startLoad } from '../support/load.ts';
import { isWanted, openProject, type Project } from './project.ts';

// TEST_COMPOSE=yes npm test -- test/compose/upgrade: docs/operations.md, Upgrade, with containers.

describe.skipIf(!isWanted)('two gateways behind a proxy', { timeout: 900_000 }, () => {
  let project: Project;
  beforeAll(async () => {
    project = await openProject('deploy/compose/two-gateways.yaml');
    await project.up('--build');
    await project.untilHealthy();
  }, 900_000);
  afterAll(() => project?.[Symbol.asyncDispose](), 300_000);

  const images = (ids: string[]) => Promise.all(ids.map((id) => project.inspect(id, '{{.Image}}')));

  test('an upgrade replaces every process under load, and no request fails', async () => {
    const before = await project.inspect(project.image, '{{.Id}}');
    await project.build({ MAYFLY_VERSION: '99.0.0' });
    const after = await project.inspect(project.image, '{{.Id}}');
    expect(after).not.toBe(before);

    const load = startLoad(() => project.baseUrl);
    await sleep(3_000);
    const said = await project.script('deploy/compose/upgrade.sh');
    const last = load.downloads;
    await expect.poll(() => load.downloads, { timeout: 60_000 }).toBeGreaterThan(last + 8); // every worker goes on
    await load.stop();
    console.log(
      `docker compose: upgraded: ${load.uploads} uploads, ${load.downloads} downloads and ${load.noteCalls} note calls`,
      `succeeded, ${load.failures.length} failed`,
    );
    expect(load.failures).toEqual([]);

    const ends = [...said.matchAll(/^(\w+): \w+ has ended with (\d+)$/gm)].map(
      ([, service, code]) => `${service} ${code}`,
    );
    expect(ends).toEqual(['files 0', 'files 0', 'notes 0', 'notes 0', 'gateway 0', 'gateway 0']);
    for (const [service, count] of Object.entries({ gateway: 2, files: 2, notes: 2, janitor: 1 })) {
      const ids = await project.containers(service);
      expect(await images(ids), service).toEqual(Array(count).fill(after));
    }
  });

  test('a version that does not get ready takes nobody’s place', async () => {
    const names = ['gateway', 'files', 'notes', 'janitor'];
    const containers = () => Promise.all(names.map(async (name) => (await project.containers(name)).sort()));
    const before = await containers();
    const load = startLoad(() => project.baseUrl, { transfers: 2, notes: 2 });
    await expect(project.script('deploy/compose/upgrade.sh', { DRAIN_MS: 'soon' })).rejects.toThrow(
      /the old one goes on/,
    );
    await load.stop();
    expect(load.failures).toEqual([]);
    expect(await containers()).toEqual(before);
  });
});
