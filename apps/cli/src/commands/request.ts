import type { ServiceConfig } from '@mayfly/client';
import { newWebhook } from '@mayfly/client/node';
import type { CreatedRequest, FileRequests } from '@mayfly/client/requests';
import { chooseOption, chooseTime, formatLimit, formatTimeLeft, parseBytes, plural } from '../amounts.ts';
import {
  type CommonOptions,
  type Context,
  chosenServer,
  creatingTransport,
  openClient,
  openRequests,
} from '../context.ts';
import { CliError } from '../exit-codes.ts';
import { jsonLine } from '../json-line.ts';
import { checkAddress, checkOffered, describeWebhook } from './notify.ts';
import { printLink } from './report-created.ts';

export type RequestOptions = CommonOptions & {
  text?: string;
  expires?: string;
  drops?: number;
  maxSize?: string;
  dropExpires?: string;
  downloads?: number;
  notify?: string;
  qr?: boolean;
};

const WEEK_SEC = 604_800;
const USUAL_COUNT = 10;

/** Asks for files: prints the link to give away, and the link to keep. */
export async function request(context: Context, title: string, options: RequestOptions) {
  const { terminal, requests, signal, config: own } = context;
  if (options.notify !== undefined) checkAddress(options.notify);
  const server = chosenServer(context, options);
  const config = await openClient(terminal, server).getConfig({ signal });
  const limits = wantedLimits(config, options);
  if (options.notify !== undefined) checkOffered(config, options.notify);
  if (own.keepLinks) await requests.prepare();
  const fileRequests = await openRequests(terminal, server, creatingTransport(context));
  const created = await fileRequests.create({ title, text: options.text, ...limits, signal });
  const { id, keepLink, expiresAt } = created;
  let isKept = false;
  try {
    if (own.keepLinks) {
      await requests.save({ id, server, keepLink, title, createdAt: new Date().toISOString(), expiresAt });
      isKept = true;
    }
  } catch (error) {
    terminal.say(`It could not be kept for mayfly list (${error instanceof Error ? error.message : String(error)}).`);
  }
  await report(
    context,
    created,
    { isKept, limits, told: () => tell(fileRequests, keepLink, options.notify, signal) },
    options,
  );
}

/** The service's own options, or a sentence with all that it offers. */
function wantedLimits({ requests, expireOptionsSec, downloadOptions }: ServiceConfig, options: RequestOptions) {
  if (!requests) throw new CliError('usage', 'This service takes no requests for files');
  const preferred = (offered: number[], usual: number) => (offered.includes(usual) ? usual : Math.max(...offered));
  const count = (name: string, wanted: number | undefined, offered: number[]) =>
    chooseOption(wanted, offered, preferred(offered, USUAL_COUNT), { name, format: String });
  const time = (name: string, text: string | undefined, offered: number[]) =>
    chooseTime(name, text, offered, preferred(offered, WEEK_SEC));
  const maxBytes = options.maxSize === undefined ? requests.maxBytes : parseBytes(options.maxSize);
  if (maxBytes > requests.maxBytes) {
    throw new CliError(
      'usage',
      `--max-size is at most ${formatLimit(requests.maxBytes)} (${requests.maxBytes} bytes) here`,
    );
  }
  return {
    expireSec: time('--expires', options.expires, requests.expireOptionsSec),
    maxDrops: count('--drops', options.drops, requests.dropOptions),
    maxBytes,
    dropExpireSec: time('--drop-expires', options.dropExpires, expireOptionsSec),
    dropMaxDownloads: count('--downloads', options.downloads, downloadOptions),
  };
}

async function tell(fileRequests: FileRequests, keepLink: string, url: string | undefined, signal: AbortSignal) {
  if (url === undefined) return undefined;
  const webhook = newWebhook(url);
  await fileRequests.setHooks(keepLink, { webhook }, { signal });
  return webhook;
}

type Made = {
  isKept: boolean;
  limits: ReturnType<typeof wantedLimits>;
  told: () => ReturnType<typeof tell>;
};

/** Both links on stdout, the one to give away first; what they mean on stderr. */
async function report(
  { terminal }: Context,
  { id, dropLink, keepLink, expiresAt }: CreatedRequest,
  { isKept, limits, told }: Made,
  { json, qr }: RequestOptions,
) {
  if (json) {
    const facts = { kind: 'request', id, dropLink, keepLink, expiresAt, ...limits };
    const webhook = await told().catch((error: unknown) => {
      terminal.print(jsonLine(facts));
      throw error;
    });
    return terminal.print(jsonLine({ ...facts, ...(webhook ? { notify: webhook } : {}) }));
  }
  const left = formatTimeLeft(Date.parse(expiresAt) - Date.now());
  terminal.say(
    `Give this link away. It takes up to ${plural(limits.maxDrops, 'drop')}, ${formatLimit(limits.maxBytes)} in all, for ${left}:`,
  );
  await printLink(terminal, dropLink, qr);
  terminal.say('Keep this link, and show it to nobody. It alone opens what is sent; if you lose it, nobody can:');
  terminal.print(`${keepLink}\n`);
  terminal.say(
    isKept
      ? `mayfly list has it as well. To fetch what was sent: mayfly collect ${id}`
      : "To fetch what was sent: mayfly collect 'LINK'",
  );
  const webhook = await told();
  if (webhook) terminal.say(describeWebhook('request', webhook));
}
