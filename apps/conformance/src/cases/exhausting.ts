import { skip } from '../case.ts';
import { answers, equal, holds, refuses } from '../expect.ts';
import type { Answer } from '../http.ts';
import { type ServerCase, type Site, serverCase, token, UNKNOWN } from '../site.ts';

const REFUSED = 'Too many requests';
const AT_ONCE = 16;
const MOST_REQUESTS = 20_000;
const MOST_GUESSES = 500;
/** Longer than a body may stand still anywhere, short of what a person waits for. */
const STALLED_MS = 180_000;

/** What takes many requests or minutes; only for who asks for it. Contract: sections 7 and 8. */
export const exhausting: ServerCase[] = [
  serverCase('7', '408 for a body that stops coming, and the connection ends', async (site) => {
    needed(site);
    const headers = Object.entries({ 'Content-Type': 'application/json', ...site.creatingHeaders() });
    const lines = ['POST /api/note HTTP/1.1', 'Content-Length: 1000', ...headers.map((line) => line.join(': '))];
    const { status, json, isEnded } = await site.sendStalled(lines.join('\r\n'), '{"encrypted', STALLED_MS);
    refuses({ status, json }, 408, 'Request Timeout');
    holds('the end of the connection', isEnded);
  }),
  serverCase('7', '429 after wrong tokens for one item, and for no other', async (site) => {
    needed(site);
    const [guessed, other] = [await site.upload(), await site.upload()];
    const guess = () => site.sendOnce('GET', `/api/download/${guessed.id}`, { 'X-Auth-Token': token() });
    let answer = await guess();
    for (let guesses = 1; answer.status === 401 && guesses < MOST_GUESSES; guesses += 1) answer = await guess();
    isRefused(answer);
    isRefused(await site.sendOnce('GET', `/api/download/${guessed.id}`, { 'X-Auth-Token': guessed.authToken }));
    answers(await site.download(other.id, other.authToken), 200);
  }),
  serverCase(
    '7',
    '429 when no request is left, as RateLimit has said, and health is answered all the same',
    async (site) => {
      needed(site);
      const ask = () => site.sendOnce('GET', `/api/exists/${UNKNOWN}`);
      let left = requestsLeft(await ask());
      if (left === undefined) skip('no answer says how many requests are left (RateLimit)');
      if (left > MOST_REQUESTS) skip(`${left} requests are left, which are much to send`);
      let refusal: Answer | undefined;
      // Twice as many, and more once more are left: those that were counted leave the window meanwhile.
      for (let sent = 0; sent < 2 * left + AT_ONCE && !refusal; sent += AT_ONCE) {
        const all = await Promise.all(Array.from({ length: AT_ONCE }, ask));
        refusal = all.find(({ status }) => status === 429);
        left = Math.max(left, ...all.map((answer) => requestsLeft(answer) ?? 0));
      }
      if (!refusal) throw new Error(`expected 429 after ${2 * left} requests, though ${left} were left`);
      isRefused(refusal);
      equal('requests left in RateLimit', requestsLeft(refusal), 0);
      answers(await site.sendOnce('GET', '/api/health'), 200);
    },
  ),
];

function needed({ mayExhaust }: Site) {
  if (!mayExhaust) skip('takes many requests or minutes; --exhaust tries it');
}

function isRefused(answer: Answer) {
  refuses(answer, 429, REFUSED);
  const seconds = answer.headers['retry-after'];
  holds('seconds in Retry-After, at least 1', /^[1-9]\d*$/.test(seconds ?? ''), seconds ?? null);
}

function requestsLeft({ headers }: Answer): number | undefined {
  const left = /(?:^|,)\s*"requests";r=(\d+)/.exec(String(headers.ratelimit ?? ''))?.[1];
  return left === undefined ? undefined : Number(left);
}
