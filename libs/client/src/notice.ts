import { REPORT_KINDS, type ReportKind } from '@mayfly/vocabulary';
import { callJson } from './api.ts';
import type { ClientOptions } from './client.ts';
import type { RequestOptions } from './context.ts';
import { MayflyError } from './errors.ts';
import { fetchTransport } from './fetch-transport.ts';
import { oneOf, optional, record, text, time } from './fields.ts';

const reportKind = oneOf(...REPORT_KINDS);

/** Why the service's operator has blocked something, and when (ISO 8601). */
export type BlockNotice = { kind: ReportKind; blockedAt: string };

const readNotice = record<BlockNotice>({ kind: reportKind, blockedAt: time });

/** Contract: GET /api/notice/<id>. Undefined when it was not blocked, and where nobody is told. */
export async function getNotice(
  { transport = fetchTransport() }: Pick<ClientOptions, 'transport'>,
  { baseUrl, id }: { baseUrl: string; id: string },
  { signal }: RequestOptions = {},
): Promise<BlockNotice | undefined> {
  try {
    const url = `${baseUrl}/api/notice/${encodeURIComponent(id)}`;
    return await callJson(transport, url, { method: 'GET', read: readNotice, signal });
  } catch (error) {
    if (error instanceof MayflyError && error.code === 'not-found') return undefined;
    throw error;
  }
}

/** How something can be reported: with a key its link can be shown to the operator. */
export type Reporting = { publicKey?: string };

const readReporting = record<{ reports?: Reporting }>({
  reports: optional(record<Reporting>({ publicKey: optional(text) })),
});

/** Contract: `reports` of GET /api/config. Undefined where nothing can be reported. */
export async function getReporting(
  { transport = fetchTransport() }: Pick<ClientOptions, 'transport'>,
  { baseUrl }: { baseUrl: string },
  { signal }: RequestOptions = {},
): Promise<Reporting | undefined> {
  const url = `${baseUrl}/api/config`;
  return (await callJson(transport, url, { method: 'GET', read: readReporting, signal })).reports;
}
