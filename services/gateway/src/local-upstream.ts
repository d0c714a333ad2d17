import { inTime } from '@mayfly/shared/admin';
import type { App } from '@mayfly/shared/app';
import { serviceUnavailable, Unavailable } from '@mayfly/shared/errors';
import { logOutage } from '@mayfly/shared/outage-log';
import { namedInConnection } from './hop-headers.ts';
import { refuse } from './refuse.ts';
import { openSlots } from './slots.ts';
import type { Upstream } from './upstream.ts';

/** A service of this process: the raw request is handed over by a function call. */
export async function localUpstream(service: App, mostRequests?: number): Promise<Upstream> {
  await service.ready();
  const slots = openSlots(mostRequests);
  return {
    handle(request, response, route) {
      if (response.destroyed) return; // the client left while the limits were asked
      if (!slots.hasRoom(route)) {
        const full = new Unavailable('a service has all it can take');
        logOutage(service.log, full);
        refuse(request, response, serviceUnavailable(full));
        return;
      }
      response.once('close', slots.take(route));
      for (const name of namedInConnection(request.headers)) delete request.headers[name]; // as on the network
      service.routing(request, response);
    },
    isReady: () => inTime(async () => (await service.inject('/readyz')).statusCode === 200),
    replicas: () => ({ fit: 1, out: 0 }),
    describe: async () => (await service.inject('/openapi.json')).json(),
  };
}
