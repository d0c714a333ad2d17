import type { IncomingMessage, ServerResponse } from 'node:http';
import type { HttpError } from '@mayfly/shared/errors';
import { metrics } from '@opentelemetry/api';
import type { Route, Service } from './routes.ts';

/** The part of an OpenAPI document that the gateway puts together. */
export type ApiDocument = { paths: Record<string, unknown>; [field: string]: unknown };

/** An answer's own header between a service and the gateway: bytes that were charged and are not stored. It goes no further. */
export const GIVE_BACK = 'x-mayfly-give-back';

/**
 * Hears the status of a service's answer before any of it leaves, and what it gives back. The answer waits for the promise, and
 * gives way to the error that it resolves with.
 */
export type BeforeAnswer = (status: number, givenBack?: string) => Promise<HttpError | undefined> | undefined;

/** A service behind the gateway: in this process or on the network. Both pass the same tests. */
export interface Upstream {
  /**
   * Answers the request on the socket it came from. What counts is sent once: a download spends a count. Decision
   * nothing-sent-twice.
   */
  handle(request: IncomingMessage, response: ServerResponse, route: Route, beforeAnswer?: BeforeAnswer): void;
  /** Whether the service is there and its stores answer. Never rejects. */
  isReady(): Promise<boolean>;
  /** The service's own OpenAPI document. Rejects with Unavailable. */
  describe(): Promise<ApiDocument>;
  /** How many replicas get requests, and how many are left out. */
  replicas?(): { fit: number; out: number };
}

/** Counts the replicas of each service, those that are left out apart. */
export function observeReplicas(upstreams: Record<Service, Upstream>) {
  const gauge = metrics.getMeter('mayfly').createObservableGauge('mayfly.upstream.replicas', {
    description: 'Replicas of a service that this gateway sends requests to (fit), and those that it leaves out (out)',
  });
  gauge.addCallback((result) => {
    for (const [service, upstream] of Object.entries(upstreams)) {
      for (const [state, count] of Object.entries(upstream.replicas?.() ?? {})) {
        result.observe(count, { 'mayfly.upstream': service, 'mayfly.state': state });
      }
    }
  });
}
