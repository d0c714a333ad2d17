import { createHash } from 'node:crypto';
import { request } from 'node:http';
import { serve } from '@mayfly/testing/listen';

const COMPILED = '/compiled-here/';
const WORKER = /\/assets\/[\w.]*worker[^/]*\.js$/;

/** Tells the address above the SHA-256 of every WebAssembly module that is compiled. For a page, and for the beginning of a worker. */
export const TELL_MODULES = `{
  const tell = async (bytes) => {
    if (!(bytes instanceof ArrayBuffer || ArrayBuffer.isView(bytes))) return;
    const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes));
    await fetch('${COMPILED}' + [...digest].map((byte) => byte.toString(16).padStart(2, '0')).join(''));
  };
  for (const name of ['compile', 'instantiate']) {
    const real = WebAssembly[name];
    WebAssembly[name] = (bytes, ...rest) => { tell(bytes); return real.call(WebAssembly, bytes, ...rest); };
  }
  for (const name of ['compileStreaming', 'instantiateStreaming']) {
    const real = WebAssembly[name];
    WebAssembly[name] = async (source, ...rest) => {
      const answer = await source;
      tell(await answer.clone().arrayBuffer());
      return real.call(WebAssembly, answer, ...rest);
    };
  }
  WebAssembly.Module = new Proxy(WebAssembly.Module, {
    construct(real, [bytes]) { tell(bytes); return new real(bytes); },
  });
}\n`;

/** Between a browser and the service: whatever the browser loads that is none of the API's, also what no event of a page tells of. */
export async function recordLoads(target: string) {
  /** The SHA-256 of what came, by path. */
  const loaded = new Map<string, string>();
  const modules = new Set<string>();
  const proxy = await serve((incoming, outgoing) => {
    const { url = '', method, headers } = incoming;
    const { pathname } = new URL(url, target);
    if (pathname.startsWith(COMPILED)) {
      modules.add(pathname.slice(COMPILED.length));
      return outgoing.end();
    }
    const isApi = pathname.startsWith('/api/');
    const { 'accept-encoding': codings, 'if-none-match': _, ...plain } = headers;
    const asked = request(new URL(url, target), { method, headers: isApi ? headers : plain, agent: false });
    asked.on('error', () => outgoing.destroy());
    outgoing.on('error', () => asked.destroy());
    asked.on('response', async (answer) => {
      const { statusCode = 0 } = answer;
      if (isApi) {
        outgoing.writeHead(statusCode, answer.headers);
        return answer.pipe(outgoing);
      }
      const body = Buffer.concat(await answer.toArray());
      if (method === 'GET') loaded.set(pathname, createHash('sha256').update(body).digest('hex'));
      const sent = WORKER.test(pathname) ? Buffer.concat([Buffer.from(TELL_MODULES), body]) : body;
      const { 'content-length': length, ...others } = answer.headers;
      outgoing.writeHead(statusCode, method === 'HEAD' ? answer.headers : { ...others, 'content-length': sent.length });
      return outgoing.end(sent);
    });
    return incoming.pipe(asked);
  });
  return { ...proxy, loaded, modules };
}
