import type { Transport } from './transport.ts';

/** Whoever posts to an address without an id makes something new. Contract 16. */
const CREATING = /\/api\/(?:upload|parts|note|request)$/;

/** The same transport, with more headers on what creates. They are asked for at every try. */
export function whenCreating(transport: Transport, headers: () => Promise<Record<string, string>>): Transport {
  return {
    ...transport,
    async send(request) {
      if (request.method !== 'POST' || !CREATING.test(request.url)) return transport.send(request);
      return transport.send({ ...request, headers: { ...request.headers, ...(await headers()) } });
    },
  };
}
