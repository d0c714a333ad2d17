import { MayflyClient } from '@mayfly/client';
import { fileSource, nodeTransport } from '@mayfly/client/node';
import { peakMemoryBytes } from '@mayfly/testing/proc';

// One upload by the client library, in a process of its own, whose memory and processor time are its own:
//
//   node bench/src/sender.ts URL FILE [CONNECTIONS]
//
// Without CONNECTIONS in one piece, else in parts, so many at once at most. Prints what it took as JSON.

export type Sent = { seconds: number; cpuSec: number; peakBytes: number };

const [baseUrl = '', path = '', connections] = process.argv.slice(2);
const client = new MayflyClient({ baseUrl, transport: nodeTransport() });
const { expireOptionsSec, downloadOptions, uploadParts } = await client.getConfig();
const file = await fileSource(path);
const began = performance.now();
const before = process.cpuUsage();
const upload = await client.uploadFiles([file], {
  expireSec: Math.max(...expireOptionsSec),
  maxDownloads: Math.max(...downloadOptions),
  uploadParts,
  inParts: connections !== undefined,
  maxParallel: Number(connections ?? 1),
});
const { user, system } = process.cpuUsage(before);
const sent: Sent = {
  seconds: (performance.now() - began) / 1_000,
  cpuSec: (user + system) / 1e6,
  peakBytes: peakMemoryBytes(process.pid),
};
await client.remove(upload, upload.ownerSecret);
console.log(JSON.stringify(sent));
