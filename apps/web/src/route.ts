export type Route = 'send' | 'file' | 'note' | 'uploads';

/** Which view an address shows. The service answers other addresses itself. */
export function routeOf(path: string): Route {
  if (path.startsWith('/d/')) return 'file';
  if (path.startsWith('/n/')) return 'note';
  return path.replace(/\/$/, '') === '/uploads' ? 'uploads' : 'send';
}
