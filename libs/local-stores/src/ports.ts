import { createServer } from 'node:net';

/** Why nothing can listen there (EADDRINUSE, EACCES, ...), or undefined when it is free. */
export function portProblem(port: number, host = '127.0.0.1'): Promise<string | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    server.listen({ port, host, exclusive: true }, () => server.close(() => resolve(undefined)));
  });
}

/** A port of this machine that nothing used a moment ago. */
export function freePort(host = '127.0.0.1'): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen({ port: 0, host }, () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address ? address.port : 0));
    });
  });
}

/** Starts something on a free port, once more on another one when somebody else was quicker. */
export async function onFreePort<T>(start: (port: number) => Promise<T>, wanted?: number): Promise<T> {
  if (wanted !== undefined) return start(wanted);
  for (let attempt = 1; ; attempt += 1) {
    const port = await freePort();
    try {
      return await start(port);
    } catch (error) {
      if (attempt === 3 || (await portProblem(port)) === undefined) throw error;
    }
  }
}

const PORTS = 50;
/** Below the ports that systems give out by themselves, and for each worker its own: two services never meet on one. */
const FIRST_PORT = 20_000 + (process.pid % 200) * PORTS;
let portsGiven = 0;

/** For a service, which is told its port before it listens. Throws when all of them are taken. */
export async function unusedPort(): Promise<number> {
  for (let tries = 0; tries < 2 * PORTS; tries++) {
    const port = FIRST_PORT + (portsGiven++ % PORTS);
    if ((await portProblem(port)) === undefined) return port;
  }
  throw new Error('no port is free');
}
