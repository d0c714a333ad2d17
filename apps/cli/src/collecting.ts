import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { Transport } from '@mayfly/client';

const EVERY_REQUESTS = 64;

/** Collects garbage after every so many requests. Decision little-garbage. */
export function collecting(transport: Transport): Transport {
  let requests = 0;
  let collect: NodeJS.GCFunction | undefined;
  return {
    ...transport,
    async send(request) {
      requests += 1;
      if (requests % EVERY_REQUESTS === 0) {
        setFlagsFromString('--expose-gc'); // V8's own, whatever this process was started with
        collect ??= runInNewContext('gc') as NodeJS.GCFunction;
        collect({ type: 'major', execution: 'sync' });
      }
      return transport.send(request);
    },
  };
}
