import { randomUUID } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { listen } from './listen.ts';

// Reference: a body streamed to a file of the same disk and synced, by nothing but Node. Argument: the folder. The files stay,
// as Mayfly's do: ext4 looks long for a place among what was deleted in the last seconds.

const folder = process.argv[2] ?? '.';
const server = createServer(async (request, response) => {
  const path = join(folder, randomUUID());
  await pipeline(request, createWriteStream(path, { flush: true }));
  response.writeHead(200, { 'content-length': 2 }).end('{}');
});
listen(server);
