import list from './pages.json' with { type: 'json' };

export type Route = 'send' | 'file' | 'note' | 'uploads';

const pages = Object.entries(list) as [string, Route][];
const firstPart = (path: string) => path.split('/')[1];

/** Which view an address shows. The service has the same list, and answers other addresses itself. */
export function routeOf(path: string): Route {
  return pages.find(([address]) => firstPart(address) === firstPart(path))?.[1] ?? 'send';
}
