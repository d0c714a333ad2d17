import type { OwnStatus } from '@mayfly/client';
import { formatTimeLeft, parseDuration, plural } from '../amounts.ts';
import type { Context } from '../context.ts';
import { CliError } from '../exit-codes.ts';
import { jsonLine } from '../json-line.ts';
import { findOwnItem, type OwnItem, type OwnOptions } from '../own-item.ts';
import { printableName } from '../printable.ts';

/** What became of something that was sent, also when it is over. */
export async function status(context: Context, linkOrId: string, options: OwnOptions) {
  const item = await findOwnItem(context, linkOrId, options);
  const { ownerSecret, client } = item;
  show(context, item, await client.getOwnStatus(item, { ownerSecret, signal: context.signal }), options);
}

export type ExtendOptions = OwnOptions & { expires?: string; uses?: number };

/** Another end, or another number of uses. */
export async function extend(context: Context, linkOrId: string, options: ExtendOptions) {
  const { expires, uses } = options;
  if (expires === undefined && uses === undefined) {
    throw new CliError('usage', 'Say what is to change: --expires TIME, --uses COUNT, or both');
  }
  const expireSec = expires === undefined ? undefined : parseDuration(expires);
  if (expireSec === 0) throw new CliError('usage', 'To end it at once use mayfly close');
  await change(context, await findOwnItem(context, linkOrId, options), { expireSec, maxUses: uses }, options);
}

/** Ends it at once, and keeps what its owner may know of it. */
export async function close(context: Context, linkOrId: string, options: OwnOptions) {
  await change(context, await findOwnItem(context, linkOrId, options), { expireSec: 0 }, options);
}

async function change(
  context: Context,
  item: OwnItem,
  terms: { expireSec?: number | undefined; maxUses?: number | undefined },
  options: OwnOptions,
) {
  const { ownerSecret, client, kept } = item;
  const now = await client.setTerms(item, { ownerSecret, signal: context.signal }, terms);
  if (kept) await context.owned.save({ ...kept, expiresAt: now.expiresAt });
  // The service's clock and this one may differ by as little as it takes to be over.
  show(context, item, terms.expireSec === 0 ? { ...now, state: 'expired' } : now, options);
}

function show({ terminal }: Context, { kind, id, kept }: OwnItem, status: OwnStatus, { json }: OwnOptions) {
  if (json) return terminal.print(jsonLine({ kind, id, name: kept?.name, ...status }));
  const { state, usedCount, maxUses, usedAt, wholeCount, expiresAt } = status;
  const use = kind === 'note' ? 'view' : 'download';
  const left = formatTimeLeft(Date.parse(expiresAt) - Date.now());
  const states = {
    available: `Available for ${left}`,
    expired: 'Closed: its time is over',
    'used-up': 'Closed: it was used as often as it could be',
    blocked: 'Blocked: the operator of the service has removed it',
  };
  const whole = wholeCount === undefined || usedCount === 0 ? '' : `, ${wholeCount} arrived whole`;
  const lines = [
    ...(kept ? [printableName(kept.name)] : []),
    states[state],
    `${usedCount} of ${plural(maxUses, use)} used${whole}`,
    ...usedAt.map((at) => `  ${formatMinute(new Date(at))}`),
  ];
  terminal.print(`${lines.join('\n')}\n`);
}

/** `2026-01-02 09:30`, by the clock of whoever reads it. */
function formatMinute(at: Date): string {
  const two = (number: number) => String(number).padStart(2, '0');
  const day = [at.getFullYear(), two(at.getMonth() + 1), two(at.getDate())].join('-');
  return `${day} ${two(at.getHours())}:${two(at.getMinutes())}`;
}
