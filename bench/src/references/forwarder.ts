import { createServer } from 'node:http';
import { Pool } from 'undici';
import { listen } from './listen.ts';

// Reference: what a hop costs by itself. Node's server and undici, which hand on what comes and know nothing of it. Argument: the
// address of the other server.

const pool = new Pool(process.argv[2] ?? '', { connections: 64 });
const server = createServer((request, response) => {
  const { url: path = '/', method = 'GET', headers } = request;
  const hasBody = headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined;
  const { connection: _, ...passed } = headers;
  pool
    .stream({ path, method, headers: passed, body: hasBody ? request : null }, (answer) => {
      const { connection: __, 'keep-alive': ___, ...kept } = answer.headers;
      return response.writeHead(answer.statusCode, kept);
    })
    .catch(() => response.destroy());
});
listen(server);
