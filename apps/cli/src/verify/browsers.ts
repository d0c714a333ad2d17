/** Who an answer may be for. As close to browsers as it needs to be: that a server could tell them apart is said in the README. */
export type Browser = { name: string; headers: Record<string, string> };

const CODINGS = { 'https:': 'gzip, deflate, br, zstd', 'http:': 'gzip, deflate' };

/** What browsers send that come for the first time: two engines, two systems. */
export function browsers(protocol: string): Browser[] {
  const codings = CODINGS[protocol as keyof typeof CODINGS];
  return [
    {
      name: 'Chrome',
      headers: {
        'user-agent':
          'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/156.0.0.0 Safari/537.36',
        'accept-encoding': codings,
        'accept-language': 'en-US,en;q=0.9',
      },
    },
    {
      name: 'Firefox',
      headers: {
        'user-agent': 'Mozilla/5.0 (X11; Linux x86_64; rv:153.0) Gecko/20100101 Firefox/153.0',
        'accept-language': 'de,en-US;q=0.7,en;q=0.3',
        'accept-encoding': codings,
      },
    },
  ];
}

const DOCUMENT = {
  accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8',
  'sec-fetch-dest': 'document',
  'sec-fetch-mode': 'navigate',
  'sec-fetch-site': 'none',
  'upgrade-insecure-requests': '1',
};
const SERVICE_WORKERS = /^\/(?:handover\/|(?:offline|idle)\.js$)/;

/** What a browser says of why it asks for a path. */
export function purposeOf(path: string, isPage: boolean): Record<string, string> {
  if (isPage) return DOCUMENT;
  const own = { accept: '*/*', 'sec-fetch-site': 'same-origin' };
  if (SERVICE_WORKERS.test(path))
    return { ...own, 'sec-fetch-dest': 'serviceworker', 'sec-fetch-mode': 'same-origin', 'service-worker': 'script' };
  if (/worker[^/]*\.js$/.test(path)) return { ...own, 'sec-fetch-dest': 'worker', 'sec-fetch-mode': 'same-origin' };
  const dest = /\.js$/.test(path) ? 'script' : /\.css$/.test(path) ? 'style' : 'empty';
  return { ...own, 'sec-fetch-dest': dest, 'sec-fetch-mode': 'cors' };
}
