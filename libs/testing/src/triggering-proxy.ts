import { connect, createServer, type Socket } from 'node:net';
import { listenBefore } from './listen.ts';

export type TriggeringProxy = Awaited<ReturnType<typeof openTriggeringProxy>>;
export type Moment = 'before' | 'after';

/**
 * A proxy before a store at which something happens the moment a request with a certain text passes: `before` it reaches the
 * store, or `after` the store has answered and before the asker learns it. Nothing passes from then on, on that connection.
 */
export async function openTriggeringProxy(target: string) {
  const { hostname, port } = new URL(target);
  let armed: { text: string; moment: Moment; act: () => void } | undefined;
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const onward = connect(Number(port), hostname);
    let isCut = false;
    let answerIsLast = false;
    for (const socket of [client, onward]) {
      sockets.add(socket);
      socket.on('error', () => {}); // the test has killed one side
      socket.once('close', () => {
        sockets.delete(socket);
        client.destroy();
        onward.destroy();
      });
    }
    const fire = () => {
      isCut = true;
      const act = armed?.act;
      armed = undefined;
      act?.();
    };
    client.on('data', (chunk: Buffer) => {
      if (isCut) return;
      if (armed && chunk.includes(armed.text)) {
        if (armed.moment === 'before') return fire();
        answerIsLast = true;
      }
      onward.write(chunk);
    });
    onward.on('data', (chunk: Buffer) => {
      if (answerIsLast && !isCut) return fire();
      if (!isCut) client.write(chunk);
    });
  });
  const address = await listenBefore(server, target);
  return {
    ...address,
    /** Once, at the next request that has the text in it. Resolves when it has happened. */
    when: (text: string, moment: Moment, act: () => void) =>
      new Promise<void>((resolve) => {
        armed = {
          text,
          moment,
          act: () => {
            act();
            resolve();
          },
        };
      }),
    /** Ends all connections; new ones are let through. */
    drop: () => {
      for (const socket of sockets) socket.destroy();
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
