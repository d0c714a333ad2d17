import { peakMemoryBytes } from '@mayfly/testing/proc';
import { expect, test } from 'vitest';
import { call, token, uploadHeaders } from '../support/api.ts';
import { describeEachShape } from '../support/each-shape.ts';

const MiB = 1024 * 1024;
/** Of each upload. More of it does not take more memory. */
const SIZE_MIB = Number(process.env.PARALLEL_TEST_MIB ?? 20);
const UPLOADS = 20;
/** A quarter of what is sent by default. Some 30 to 80 MiB are there, most of them buffers that wait for the collector. */
const MOST_MIB = 100;

describeEachShape('twenty uploads at once', {}, (service) => {
  const chunk = Buffer.alloc(64 * 1024, 'x');
  const send = () => {
    const headers = {
      ...uploadHeaders({ authToken: token(), ownerToken: token() }),
      'content-length': String(SIZE_MIB * MiB),
    };
    async function* body() {
      for (let sent = 0; sent < SIZE_MIB * MiB; sent += chunk.length) yield chunk;
    }
    return call('POST', `${service.api.baseUrl}/api/upload`, { headers, body: body() });
  };

  test.skipIf(process.platform !== 'linux')(
    'add less than a quarter of their bytes to the memory of any process (measured on Linux, else skipped)',
    async () => {
      for (let i = 0; i < 3; i++) await Promise.all([send(), send()]); // what grows once, whatever is sent
      const before = service.running.processes.map((one) => peakMemoryBytes(one.child.pid));
      const answers = await Promise.all(Array.from({ length: UPLOADS }, send));
      expect(answers.map(({ status }) => status)).toEqual(Array(UPLOADS).fill(200));
      const grew = service.running.processes.map((one, i) => ({
        name: one.name,
        beforeMiB: Math.round((before[i] ?? 0) / MiB),
        grewMiB: Math.round((peakMemoryBytes(one.child.pid) - (before[i] ?? 0)) / MiB),
      }));
      console.log(`${UPLOADS} uploads of ${SIZE_MIB} MiB at once: ${JSON.stringify(grew)}`);
      for (const { grewMiB } of grew) expect(grewMiB).toBeLessThan(MOST_MIB);
    },
  );
});
