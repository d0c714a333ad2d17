import { createServer } from 'node:http';
import { listen, SAMPLE } from './listen.ts';

// Reference: what Node itself costs for one small JSON answer.

const text = JSON.stringify(SAMPLE);
const server = createServer((_request, response) => {
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': text.length });
  response.end(text);
});
listen(server);
