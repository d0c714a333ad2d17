import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** A connection to a public address; a reset ends it as a close does. */
export async function openSocket(baseUrl: string): Promise<Socket> {
  const { hostname, port } = new URL(baseUrl);
  const socket = connect(Number(port), hostname);
  await once(socket, 'connect');
  socket.on('error', () => {}); // the tests look at what arrived
  return socket;
}

/** Sends bytes as they are and reads until the server closes, or stays silent for a second. */
export async function exchange(baseUrl: string, ...parts: (string | Buffer)[]): Promise<string> {
  const socket = await openSocket(baseUrl);
  socket.setTimeout(1_000, () => socket.destroy());
  for (const part of parts) socket.write(part);
  return received(socket);
}

/** Everything until the connection ends. */
export async function received(socket: Socket): Promise<string> {
  let answer = '';
  socket.on('data', (chunk) => {
    answer += chunk;
  });
  if (!socket.closed) await new Promise((resolve) => socket.once('close', resolve));
  return answer;
}

export const requestHead = (line: string, headers: Record<string, string>) =>
  `${line} HTTP/1.1\r\nHost: localhost\r\n${Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('')}\r\n`;

export async function untilTrue(check: () => boolean | Promise<boolean>, withinMs = 10_000) {
  for (let waited = 0; waited < withinMs; waited += 50) {
    if (await check()) return;
    await sleep(50);
  }
  throw new Error(`it did not become true within ${withinMs} ms`);
}
