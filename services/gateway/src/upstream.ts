import type { IncomingMessage, ServerResponse } from 'node:http';

/** The part of an OpenAPI document that the gateway puts together. */
export type ApiDocument = { paths: Record<string, unknown>; [field: string]: unknown };

/** A service behind the gateway: in this process or on the network. Both pass the same tests. */
export interface Upstream {
  /** Answers the request on the socket it came from. Nothing is ever retried: a download spends a count. */
  handle(request: IncomingMessage, response: ServerResponse): void;
  /** Whether the service is there and its stores answer. Never rejects. */
  isReady(): Promise<boolean>;
  /** The service's own OpenAPI document. Rejects with Unavailable. */
  describe(): Promise<ApiDocument>;
}

export async function allReady(upstreams: Record<string, Upstream>): Promise<boolean> {
  const answers = await Promise.all(Object.values(upstreams).map((upstream) => upstream.isReady()));
  return answers.every(Boolean);
}
