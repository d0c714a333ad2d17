import { parseId } from '@mayfly/shared/fields';
import { tokenMatches } from '@mayfly/shared/tokens';
import type { Desk, Evidence, ItemKind, OpenReport, ReportKind } from '@mayfly/store/reports';

// The operator's desk: what was reported, and what becomes of it. Contract 17, decision reports-without-a-look.

export type DeskDeps = {
  desk: Desk;
  tombstoneTtlSec: number;
  privateKey?: string | undefined;
  baseUrl?: string | undefined;
};
export type DeskOptions = { id: string; reason: ReportKind };
type Outcome = { isOk: boolean; facts: object; sentence: string };

/** As many as a person reads; the rest comes up when these are done. */
const MOST_LISTED = 500;
const LETTERS: Record<ItemKind, string> = { upload: 'd', note: 'n', request: 'r' };
const NO_ID = { isOk: false, facts: { problem: 'no id' }, sentence: 'That is no id.' };

export async function listReports({ desk }: DeskDeps): Promise<Outcome> {
  const reports = await desk.open(MOST_LISTED);
  const facts = reports.map(({ itemId, number, disclosed, item, ...rest }) => ({
    report: `${itemId}/${number}`,
    item: item ?? null,
    ...rest,
    isDisclosed: disclosed !== undefined,
  }));
  return { isOk: true, facts, sentence: reports.map(linesOf).join('\n\n') || 'Nothing is reported.' };
}

/** The link that a report discloses, and whether it is that of the item: neither reporter nor sender can lie about it. */
export async function openReport(deps: DeskDeps, { id: named }: DeskOptions): Promise<Outcome> {
  const [idText = '', number = ''] = named.split('/');
  const id = parseId(idText);
  if (!id || !/^\d{1,2}$/.test(number))
    return { ...NO_ID, sentence: 'That is no report: they are listed as ID/NUMBER.' };
  const { desk, privateKey } = deps;
  const report = await desk.find(id, Number(number));
  if (!report) return failed('no report', 'There is no such report.');
  if (!report.disclosed) return failed('not disclosed', 'Its reporter has disclosed no link.');
  if (!privateKey) return failed('no key', 'REPORT_PRIVATE_KEY is missing: what `keygen` has printed.');
  const { openDisclosure } = await import('@mayfly/client/reports'); // nothing else needs its code
  const fragment = await openDisclosure(privateKey, id, report.disclosed).catch(() => undefined);
  if (fragment === undefined) {
    return failed('not opened', 'It does not open: it was sealed to another key, or for another item, or is none.');
  }
  const evidence = await desk.evidence(id);
  const link = `${deps.baseUrl ?? 'http://localhost'}/${LETTERS[evidence?.item ?? 'upload']}/${id}#${fragment}`;
  const verdict = await compare(evidence, link).catch(() => 'false' as const);
  const isLink = verdict === 'genuine' || verdict === 'password';
  const shown = deps.baseUrl ? link : link.slice('http://localhost'.length);
  const facts = { report: `${id}/${number}`, verdict, ...(isLink ? { link: shown } : {}) };
  return { isOk: isLink, facts, sentence: `${VERDICTS[verdict]}${isLink ? `\n${shown}` : ''}` };
}

export async function dismiss({ desk }: DeskDeps, { id: typed }: DeskOptions): Promise<Outcome> {
  const id = parseId(typed);
  if (!id) return NO_ID;
  const count = await desk.dismiss(id);
  const sentence = count > 0 ? `Dismissed: ${count}.` : 'Nothing is reported of that id.';
  return { isOk: count > 0, facts: { dismissed: count }, sentence };
}

export async function block(deps: DeskDeps, { id: typed, reason }: DeskOptions): Promise<Outcome> {
  const id = parseId(typed);
  if (!id) return NO_ID;
  const item = await deps.desk.block(id, reason, deps.tombstoneTtlSec);
  if (!item) return { isOk: false, facts: { blocked: null }, sentence: 'There is nothing of that id.' };
  const rest = item === 'upload' ? ' Its payload goes with the next sweep.' : '';
  return { isOk: true, facts: { blocked: item, reason }, sentence: `The ${item} is blocked.${rest}` };
}

export async function unblock({ desk }: DeskDeps, { id: typed }: DeskOptions): Promise<Outcome> {
  const id = parseId(typed);
  if (!id) return NO_ID;
  const isOk = await desk.unblock(id);
  const sentence = isOk
    ? 'Nobody is told any more that it was blocked. What was erased cannot be brought back.'
    : 'Nothing of that id is blocked.';
  return { isOk, facts: { unblocked: isOk }, sentence };
}

type Verdict = 'genuine' | 'false' | 'password' | 'gone';
const VERDICTS: Record<Verdict, string> = {
  genuine: 'Genuine: this link opens what is stored.',
  password: 'It has a password: only who knows it can tell whether this link opens what is stored.',
  false: 'False: this link does not open what is stored.',
  gone: 'What it is about is not there any more: there is nothing to compare it with.',
};

async function compare(evidence: Evidence | undefined, link: string): Promise<Verdict> {
  const { claimOf, namesKey } = await import('@mayfly/client/reports');
  if (evidence?.publicKey) return (await namesKey(link, evidence.publicKey)) ? 'genuine' : 'false';
  if (!evidence?.salt || !evidence.authHash) return 'gone';
  const claim = await claimOf(link, evidence.salt);
  if (claim === 'password' || evidence.hasPassword) return 'password';
  return tokenMatches(claim.authToken, evidence.authHash) ? 'genuine' : 'false';
}

const failed = (problem: string, sentence: string): Outcome => ({ isOk: false, facts: { problem }, sentence });

function linesOf({ itemId, number, item, kind, text, at, disclosed, hadToken }: OpenReport): string {
  const about = [
    at.toISOString().slice(0, 16).replace('T', ' '),
    kind,
    item ?? 'nothing there',
    ...(disclosed ? ['link disclosed'] : []),
    ...(hadToken === undefined ? [] : [hadToken ? 'had the link' : 'had another link']),
  ];
  const said = printable(text);
  return `${itemId}/${number}  ${about.join(', ')}${said ? `\n  ${said}` : ''}`;
}

/** What a stranger wrote must not steer a terminal, nor hide what is beside it. */
const printable = (text: string) => text.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]+/gu, ' ').trim();
