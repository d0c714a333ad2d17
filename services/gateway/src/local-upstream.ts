import { inTime } from '@mayfly/shared/admin';
import type { App } from '@mayfly/shared/app';
import { namedInConnection } from './hop-headers.ts';
import type { Upstream } from './upstream.ts';

/** A service of this process: the raw request is handed over by a function call. */
export async function localUpstream(service: App): Promise<Upstream> {
  await service.ready();
  return {
    handle(request, response) {
      for (const name of namedInConnection(request.headers)) delete request.headers[name]; // as on the network
      service.routing(request, response);
    },
    isReady: () => inTime(async () => (await service.inject('/readyz')).statusCode === 200),
    describe: async () => (await service.inject('/openapi.json')).json(),
  };
}
