import { randomBytes, randomUUID } from 'node:crypto';
import { asMayflyError, MayflyError } from '@mayfly/client';
import { RELEASE_FILE } from '@mayfly/vocabulary/pages';
import { type Browser, browsers, purposeOf } from './browsers.ts';
import { type Expected, problemsOf } from './compare.ts';
import { BadAnswer, fetchCold } from './fetch-cold.ts';
import type { NamedRelease } from './release.ts';

export type Difference = { path: string; browser: string; problem: string };
export type Findings = { checked: number; differences: Difference[] };

export type Patience = {
  /** For one answer. */
  requestMs: number;
  /** For all of them. */
  totalMs: number;
};
const PATIENCE = { requestMs: 30_000, totalMs: 600_000 };
const PARALLEL = 8;

type Check = Expected & { path: string; isPage: boolean; bytes: number };

/**
 * Gets every page and file of a release from a server as two browsers would, and compares. Throws `network` only when
 * nothing at all can be had; what cannot be had later is a difference. Ends in `totalMs`, whatever the server does.
 */
export async function verifyServer(
  origin: string,
  named: NamedRelease,
  signal: AbortSignal,
  { requestMs, totalMs }: Patience = PATIENCE,
): Promise<Findings> {
  const { protocol } = new URL(origin);
  const { Agent } = process.getBuiltinModule(protocol === 'https:' ? 'node:https' : 'node:http');
  const visitors = browsers(protocol).map((browser) => ({ browser, agent: new Agent({ keepAlive: true }) }));
  const over = AbortSignal.timeout(totalMs);
  const until = AbortSignal.any([signal, over]);
  const differences: Difference[] = [];
  const check = async (wanted: Check, { browser, agent }: (typeof visitors)[number]) => {
    const { path, isPage, status, bytes } = wanted;
    const found = over.aborted
      ? [`not checked: all of it takes longer than ${totalMs / 1000} s`]
      : await fetchCold({
          url: new URL(path, origin),
          headers: { ...browser.headers, ...purposeOf(path, isPage) },
          agent,
          status,
          mostBytes: bytes,
          timeoutMs: requestMs,
          signal: until,
        }).then((answer) => problemsOf(answer, wanted), toProblems(over));
    if (signal.aborted) throw new MayflyError('aborted');
    differences.push(...found.map((problem) => ({ path, browser: browser.name, problem })));
  };
  try {
    const checks = checksOf(named);
    await mustBeThere(origin, visitors[0], requestMs, signal);
    const waiting = checks.flatMap((wanted) => visitors.map((visitor) => () => check(wanted, visitor))).values();
    const work = async () => {
      for (const next of waiting) await next();
    };
    await Promise.all(Array.from({ length: PARALLEL }, work));
    return { checked: checks.length * visitors.length, differences: differences.sort(byPath) };
  } finally {
    for (const { agent } of visitors) agent.destroy();
  }
}

/** Pages first, since those are what a server would change for some. */
function checksOf({ release, id, bytes }: NamedRelease): Check[] {
  const { '/': document, ...files } = release.files;
  if (!document) throw new Error('a release has a document'); // it was looked at when it was read
  const check = (path: string, { sha256, bytes, type }: typeof document, status = 200, isPage = false) => ({
    path,
    isPage,
    status,
    sha256,
    bytes,
    headers: { ...release.headers, 'content-type': type },
  });
  const own = { sha256: id, bytes, type: 'application/json; charset=utf-8' };
  return [
    ...release.pages.map((page) => check(page.replace(':id', randomUUID()), document, 200, true)),
    check(`/${randomBytes(8).toString('hex')}`, document, 404, true), // it says that there is no such page
    check(`/${RELEASE_FILE}`, own),
    ...Object.entries(files).map(([path, file]) => check(path, file)),
  ];
}

/** A server that is not there has no differences. */
async function mustBeThere(
  origin: string,
  visitor: { browser: Browser; agent: InstanceType<typeof import('node:http').Agent> } | undefined,
  timeoutMs: number,
  signal: AbortSignal,
) {
  if (!visitor) return;
  const { browser, agent } = visitor;
  const headers = { ...browser.headers, ...purposeOf('/', true) };
  const request = { url: new URL(origin), headers, agent, status: 0, mostBytes: 0, timeoutMs, signal };
  await fetchCold(request).catch((error) => {
    if (!(error instanceof BadAnswer)) throw asMayflyError(error, signal);
  });
}

const toProblems = (over: AbortSignal) => (error: unknown) => {
  if (over.aborted) return ['not checked: time is over'];
  const { code, message } = error as NodeJS.ErrnoException;
  return [error instanceof BadAnswer ? message : `cannot be had (${code ?? message})`];
};

/** By address, then by browser. What one answer has wrong stays in its order. */
function byPath(one: Difference, other: Difference): number {
  const [before, after] = [`${one.path} ${one.browser}`, `${other.path} ${other.browser}`];
  return before < after ? -1 : before > after ? 1 : 0;
}
