import { type IncomingHttpHeaders, request } from 'node:http';
import { serve } from '@mayfly/testing/listen';

type Passing = { method: string; path: string; headers: IncomingHttpHeaders };
export type Answered = { status: number; headers: IncomingHttpHeaders; body: Buffer };

/** What is wrong with a server: it may change a request, answer it itself, or change an answer. */
export type Fault = {
  asked?: (passing: Passing) => Answered | undefined;
  answered?: (answer: Answered, passing: Passing) => void;
};

/** A server that breaks things: a service behind a proxy that alters what passes. */
export const openAlteringProxy = (target: string, fault: Fault) =>
  serve((incoming, response) => {
    const passing = { method: incoming.method ?? '', path: incoming.url ?? '', headers: { ...incoming.headers } };
    const say = ({ status, headers, body }: Answered) => {
      const { 'content-length': _, 'transfer-encoding': __, ...rest } = headers;
      response.writeHead(status, { ...rest, 'content-length': body.length, connection: 'close' });
      response.end(body);
    };
    const isAddress = passing.path.startsWith('/');
    const own = isAddress ? fault.asked?.(passing) : json(404, { error: 'Not Found' });
    if (own) {
      incoming.resume();
      say(own);
      return;
    }
    const { method, headers } = passing;
    const onward = request(`${target}${passing.path}`, { method, headers, agent: false }, async (answer) => {
      const body = Buffer.concat(await answer.toArray());
      const answered = { status: answer.statusCode ?? 0, headers: { ...answer.headers }, body };
      fault.answered?.(answered, passing);
      say(answered);
    });
    onward.on('error', () => response.destroy());
    incoming.on('aborted', () => onward.destroy());
    onward.flushHeaders(); // the answer may come before the body
    incoming.pipe(onward);
  });

export const json = (status: number, body: unknown, headers: IncomingHttpHeaders = {}): Answered => ({
  status,
  headers: { 'content-type': 'application/json', ...headers },
  body: Buffer.from(JSON.stringify(body)),
});
