import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { memoryBytes } from '@mayfly/testing/proc';
import { openSocket, requestHead } from '@mayfly/testing/wire';
import { expect, test } from 'vitest';
import { describeEachShape } from '../support/each-shape.ts';

const STALLED = 300;
const AT_ONCE = 20;
/** More than the buffers of the system between two processes. */
const SIZE = 24 * 1024 * 1024;
const MOST_BYTES = 40 * 1024 * 1024 + STALLED * 150 * 1024;

describeEachShape(
  'downloads that nobody reads',
  {
    DOWNLOAD_OPTIONS: '1,1000',
    REQUESTS_PER_CLIENT_MAX: '0',
  },
  (service) => {
    test.skipIf(process.platform !== 'linux')(
      'hold 150 KiB each, and what the fast ones share',
      { timeout: 180_000 },
      async () => {
        const upload = await service.api.newUpload({ 'X-Max-Downloads': '1000' }, randomBytes(SIZE));
        await service.api.download(upload.id, upload.authToken);
        const watched = service.running.processes.filter(({ name }) => ['all', 'gateway', 'files'].includes(name));
        const before = watched.map(({ child }) => memoryBytes(child.pid));

        const stall = async () => {
          const socket = await openSocket(service.api.baseUrl);
          socket.write(requestHead(`GET /api/download/${upload.id}`, { 'X-Auth-Token': upload.authToken }));
          await once(socket, 'readable');
          expect(String(socket.read(15))).toMatch(/^HTTP\/1.1 200/); // nothing more is read
          return socket;
        };
        const sockets: Socket[] = [];
        while (sockets.length < STALLED) sockets.push(...(await Promise.all(Array.from({ length: AT_ONCE }, stall))));

        const held = watched.map(({ child }, index) => memoryBytes(child.pid) - (before[index] ?? 0));
        for (const socket of sockets) socket.destroy();
        for (const bytes of held) expect(bytes).toBeLessThan(MOST_BYTES);
        expect((await service.api.info(upload.id)).body.downloadCount).toBe(STALLED + 1);
      },
    );
  },
);
