import { createReadStream, statSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { listen } from './listen.ts';

// Reference: a file streamed from the same disk in pieces of 1 MiB, by nothing but Node. Argument: the folder.

const folder = process.argv[2] ?? '.';
const server = createServer(async (request, response) => {
  const path = join(folder, (request.url ?? '').slice(1));
  response.writeHead(200, { 'content-length': statSync(path).size });
  // A client that has its last byte may leave before this process has noticed that it was sent.
  await pipeline(createReadStream(path, { highWaterMark: 1024 * 1024 }), response).catch(() => response.destroy());
});
listen(server);
