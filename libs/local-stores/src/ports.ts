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
