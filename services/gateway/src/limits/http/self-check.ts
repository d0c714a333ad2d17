import type { App } from '../../deps.ts';
import { clientOf } from '../keys/client-address.ts';
import type { RequestLimits } from '../limits.ts';

/**
 * `GET /client` on the admin port, for operators who set up proxies: sent the way a client's request goes, it shows what
 * arrived, which address was believed and who is counted. Decision client-address. Nothing of it is logged.
 */
export function selfCheck(app: App, requests: RequestLimits) {
  app.get('/client', async ({ headers, socket, ip, protocol, host }) => ({
    socket: socket.remoteAddress,
    headers: {
      'x-forwarded-for': headers['x-forwarded-for'],
      'x-forwarded-proto': headers['x-forwarded-proto'],
      'x-forwarded-host': headers['x-forwarded-host'],
      forwarded: headers.forwarded,
      'x-real-ip': headers['x-real-ip'],
    },
    address: ip,
    client: clientOf(ip),
    limiterKey: await requests.keyOf(ip),
    baseUrl: `${protocol}://${host}`,
  }));
}
