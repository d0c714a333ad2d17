import list from './pages.json' with { type: 'json' };

export type Route = 'send' | 'file' | 'note' | 'uploads' | 'ask' | 'request' | 'signin' | 'missing';

const pages = Object.entries(list) as [string, Route][];
/** A slash at the end is one that was added on the way. */
const partsOf = (path: string) => path.replace(/(?<=.)\/+$/, '').split('/');

/** Which view an address shows. The service has the same list; at other addresses it answers browsers with this app, too. */
export function routeOf(path: string): Route {
  const parts = partsOf(path);
  const fits = (page: string[]) =>
    page.length === parts.length && page.every((part, index) => part.startsWith(':') || part === parts[index]);
  return pages.find(([address]) => fits(partsOf(address)))?.[1] ?? 'missing';
}
