import { startSplit, startStores } from '@mayfly/bench/service';
import { MayflyClient } from '@mayfly/client';
import { nodeTransport } from '@mayfly/client/node';
import { spanTree, startCollector } from '@mayfly/testing/collector';
import { freshFolder } from '@mayfly/testing/stores';

// npm run trace: starts the split shape on stores of its own, uploads and downloads a file, reads a note, and prints the
// spans of each request over all hops.

const SIZE = 1_000_000;
await using stack = new AsyncDisposableStack();
const folder = stack.use(await freshFolder());
const collector = stack.use(await startCollector());
const stores = await startStores(stack, folder.path, true);
const [gateway] = await startSplit(stack, { ...stores, env: { ...stores.env, ...collector.settings } });
const client = new MayflyClient({ baseUrl: gateway?.url ?? '', transport: nodeTransport() });

const file = { name: 'traced.bin', size: SIZE, stream: () => new Blob([new Uint8Array(SIZE)]).stream() };
const { link } = await client.uploadFiles([file], { expireSec: 3600, maxDownloads: 1 });
const { payload } = await client.download(link);
for await (const _ of payload); // to its end
const note = await client.createNote('traced', { expireSec: 3600, maxViews: 1 });
await client.viewNote(note.link);

for (const name of ['POST /api/upload', 'GET /api/download/:id', 'POST /api/note/:id/view', 'job sweep']) {
  const isRoot = (span: { name: string; parentSpanId: string | undefined }) => span.name === name && !span.parentSpanId;
  const hops = name.startsWith('job') ? 1 : 2;
  const spans = await collector.trace(isRoot, (found) => found.filter((span) => span.name === name).length === hops);
  console.log(`\n${spanTree(spans)}`);
}
