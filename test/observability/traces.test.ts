import { MayflyClient } from '@mayfly/client';
import { nodeTransport } from '@mayfly/client/node';
import { type CollectedSpan, spanTree, startCollector } from '@mayfly/testing/collector';
import { inSuite } from '@mayfly/testing/in-suite';
import { SHAPES, startShape } from '@mayfly/testing/shapes';
import { describe, expect, test } from 'vitest';

const SERVER = 2;
const CLIENT = 3;

describe.each(SHAPES)('traces (%s)', (shape) => {
  const collector = inSuite(() => startCollector());
  const running = inSuite(() => startShape(shape, collector().settings));

  test('one upload is one trace over all hops, and a sweep is one, too', async () => {
    const client = new MayflyClient({ baseUrl: running().baseUrl, transport: nodeTransport() });
    const file = { name: 'a.bin', size: 100_000, stream: () => new Blob([new Uint8Array(100_000)]).stream() };
    await client.uploadFiles([file], { expireSec: 60, maxDownloads: 1 });

    const trace = await collector().trace(isPublicUpload, isWholeUpload);
    console.log(`${shape}\n${spanTree(trace)}`);
    const by = (name: string, service?: string) =>
      trace.find((span) => span.name === name && (!service || span.attributes['mayfly.service'] === service));
    const gateway = by('POST /api/upload', 'gateway');
    const files = by('POST /api/upload', 'files');
    expect(gateway?.parentSpanId).toBeUndefined();
    expect([gateway?.kind, files?.kind]).toEqual([SERVER, SERVER]);
    expect(files?.parentSpanId).toBe(gateway?.spanId);
    expect(by('limits.admit')?.parentSpanId).toBe(gateway?.spanId);
    for (const name of ['uploads.begin', 'put', 'uploads.publish']) {
      expect(by(name)?.parentSpanId, name).toBe(files?.spanId);
      expect(by(name)?.kind, name).toBe(CLIENT);
    }
    expect(by('put')?.attributes).toEqual({
      'mayfly.blob_store': shape === 'all' ? 'disk' : 's3',
      'mayfly.operation': 'put',
    });
    const services = new Set(trace.map(({ service }) => service));
    expect([...services].sort()).toEqual(shape === 'all' ? ['mayfly-all'] : ['mayfly-files', 'mayfly-gateway']);

    const job = await collector().trace(
      ({ name }) => name === 'job sweep',
      (spans) => spans.some(({ name }) => name === 'notes.endTombstones') && spans.some(isSweep),
    );
    const root = job.find(isSweep);
    expect(job.filter(({ parentSpanId }) => parentSpanId === root?.spanId).length).toBe(job.length - 1);
  });

  test('what a client says about traces counts for nothing, and lines of the log carry the trace', async () => {
    const forged = '0af7651916cd43dd8448eb211c80319c';
    const headers = { traceparent: `00-${forged}-b7ad6b7169203331-01`, baggage: 'a=b' };
    await fetch(`${running().baseUrl}/api/config`, { headers });
    await collector().trace(
      ({ name }) => name === 'GET /api/config',
      () => true,
    );
    expect(collector().spans.map(({ traceId }) => traceId)).not.toContain(forged);
    const output = running()
      .processes.map((process) => process.output())
      .join('\n');
    const line = output.split('\n').find((text) => text.includes('"/api/config"'));
    const traced = collector().spans.map(({ traceId }) => traceId);
    expect(traced).toContain(JSON.parse(line ?? '{}').trace_id);
  });
});

test('what is still unsent is sent at the end', { timeout: 240_000 }, async () => {
  await using collector = await startCollector();
  const running = await startShape('all', { ...collector.settings, OTEL_BSP_SCHEDULE_DELAY: '600000' });
  await fetch(`${running.baseUrl}/api/info/00000000-0000-4000-8000-000000000000`);
  expect(collector.spans.filter(({ name }) => name === 'GET /api/info/:id')).toEqual([]);
  await running[Symbol.asyncDispose]();
  expect(collector.spans.map(({ name }) => name)).toContain('GET /api/info/:id');
});

function isPublicUpload({ name, attributes }: CollectedSpan) {
  return name === 'POST /api/upload' && attributes['mayfly.service'] === 'gateway';
}

function isWholeUpload(spans: CollectedSpan[]) {
  const names = spans.map(({ name }) => name);
  const isThere = ['uploads.begin', 'put', 'uploads.publish', 'limits.admit'].every((name) => names.includes(name));
  return isThere && names.filter((name) => name === 'POST /api/upload').length === 2;
}

function isSweep({ name }: CollectedSpan) {
  return name === 'job sweep';
}
