import { HttpError } from '@mayfly/shared/errors';
import type { FastifyRequest } from 'fastify';
import type { App } from '../../deps.ts';
import { type BodyLimits, largestBody, type Route } from '../../routes.ts';
import type { Work } from '../../work/work.ts';
import type { RequestLimits, Ticket } from '../limits.ts';
import { limitBody } from './body-limit.ts';
import { chargedBytes } from './charge.ts';
import { settleAttempt, settleBytes } from './settle.ts';

/**
 * Counts every request but those that say otherwise, before its body is read, and says so on every answer (RateLimit
 * fields of draft-ietf-httpapi-ratelimit-headers). One over the limit may have worked for its place. Decisions exact-sliding-log,
 * daily-quota, guesses-count-at-start and work-instead-of-a-wall.
 */
export function limitRequests(app: App, requests: RequestLimits, sizes: BodyLimits, work?: Work) {
  const { limits } = requests;
  const policy = `"requests";q=${limits.max};w=${limits.windowMs / 1000}`;

  app.addHook('onRequest', async (request, reply) => {
    // What the router has made of the address decides: it can be written in more ways than one.
    const { route, isUncounted } = request.routeOptions.config;
    if (isUncounted) return;
    const { id } = request.params as { id?: string };
    const mostBytes = route ? largestBody(route, sizes) : 0;
    const demand = {
      address: request.address,
      bytes: route ? chargedBytes(request.headers, route, mostBytes, sizes) : 0,
      item: route?.isGuarded ? id?.toLowerCase() : undefined,
    };
    let ticket = await requests.admit(demand);
    if (limits.max > 0) {
      const { remainingPoints, msBeforeNext } = ticket.admission;
      reply.header('ratelimit-policy', policy);
      reply.header('ratelimit', `"requests";r=${remainingPoints};t=${Math.ceil(msBeforeNext / 1000)}`);
    }
    if (work && ticket.admission.isLimited && (await hasWorked(work, request))) {
      ticket = await requests.admit({ ...demand, hasPlace: true });
    }
    if (work) delete request.raw.headers['x-work']; // the services need not see it
    assertAdmitted(ticket);
    if (!route) return;
    const isTooLarge = Number(request.headers['content-length']) > mostBytes;
    // Whoever has left while waiting must not spend a download or a view.
    if (isTooLarge || request.raw.socket.destroyed) {
      await Promise.all([ticket.giveBack(), ticket.refund()]);
      throw isTooLarge ? tooLarge(route) : tooMany('Too many requests', 0);
    }
    if (route.body || route.announcedBytes) settleBytes(ticket, request.raw, reply.raw);
    if (route.isGuarded) {
      const refusal = (lockedMs: number) => tooMany('Too many requests', lockedMs);
      request.beforeAnswer = settleAttempt(ticket, request.raw, reply.raw, refusal);
    }
    limitBody(request.raw, reply.raw, mostBytes, () => tooLarge(route));
  });
}

async function hasWorked(work: Work, { address, raw }: FastifyRequest): Promise<boolean> {
  const { 'x-work': solution } = raw.headers;
  return typeof solution === 'string' && work.isWorth(address, solution);
}

function assertAdmitted({ admission, lockedMs, msToMidnight }: Ticket) {
  if (admission.isLimited) throw tooMany('Too many requests', admission.msBeforeNext);
  if (lockedMs > 0) throw tooMany('Too many requests', lockedMs);
  if (admission.isQuotaExceeded) throw tooMany('Upload quota exceeded', msToMidnight);
}

const tooLarge = (route: Route) => new HttpError(413, route.body?.tooLarge);

export function tooMany(sentence: string, waitMs: number): HttpError {
  const headers = { 'retry-after': String(Math.max(Math.ceil(waitMs / 1000), 1)) };
  return new HttpError(429, sentence, { headers });
}
