import { callJson } from './api.ts';
import type { Context } from './context.ts';
import { whenCreating } from './creating-transport.ts';
import { optional, record, text } from './fields.ts';
import type { RequestLink } from './request-link.ts';
import type { Transport } from './transport.ts';

const readGuard = record<{ createGuard?: string }>({ createGuard: optional(text) });
const readSlot = record<{ slot: string }>({ slot: text });

/** How to upload for a request: where creating takes a key, the request gives a slot for each try. Contract 16.1. */
export async function senderTransport(
  { transport }: Pick<Context, 'transport'>,
  { baseUrl, id }: Pick<RequestLink, 'baseUrl' | 'id'>,
  signal?: AbortSignal,
): Promise<Transport> {
  const { createGuard } = await callJson(transport, `${baseUrl}/api/config`, {
    method: 'GET',
    read: readGuard,
    signal,
  });
  if (!createGuard) return transport;
  const url = `${baseUrl}/api/request/${id}/slot`;
  return whenCreating(transport, async () => {
    const { slot } = await callJson(transport, url, { method: 'POST', read: readSlot, signal });
    return { 'X-Request-Slot': slot };
  });
}
