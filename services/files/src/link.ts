import type { IncomingHttpHeaders } from 'node:http';

/** The address of the page of an upload (`d`) or a request (`r`). What the gateway says is public counts; without one, where the request was sent. Contract 1. */
export function linkTo(id: string, headers: IncomingHttpHeaders, page: 'd' | 'r' = 'd'): string {
  return `${headers['x-mayfly-base-url'] ?? `http://${headers.host}`}/${page}/${id}`;
}
