// Decision page-without-network: a browser takes the requests of a page's own workers to the service worker of the workers' address. That would
// be the one at /, past which static routes lead requests of pages only (Chromium 156), and every byte that is sent would be copied for
// it. This one hears of no request.

/** As much of the global scope as is used: the rest of the app is checked with a page's types. */
type Scope = { addEventListener(name: 'install', listener: () => void): void; skipWaiting(): Promise<void> };

const scope = globalThis as unknown as Scope;

scope.addEventListener('install', () => void scope.skipWaiting());
