import { MayflyError, type ReportKind } from '@mayfly/client';
import { t } from '../languages/index.ts';
import { call } from '../worker/call.ts';

/** What stands in an address for what it leads to. */
export const idIn = (path: string) => path.split('/')[2] ?? '';

/** What was not found may have been blocked: then it is a problem of its own, with the operator's reason. */
export async function whyGone(error: unknown): Promise<unknown> {
  if (!(error instanceof MayflyError) || error.code !== 'not-found') return error;
  const notice = await call('getNotice', { id: idIn(location.pathname) }).catch(() => undefined); // the first error stands
  return notice ? new Blocked(notice.kind) : error;
}

export class Blocked extends Error {
  readonly kind: ReportKind;
  constructor(kind: ReportKind) {
    super('blocked');
    this.kind = kind;
  }
}

/** In the reader's language. */
export const blockedProblem = ({ kind }: Blocked) => ({
  code: 'blocked',
  title: t.reports.blockedTitle,
  sentence: t.reports.blocked({ reason: t.reports.kinds[kind] }),
});
