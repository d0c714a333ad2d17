import { reach } from './reach.ts';

/** Random bytes in place of what a client would encrypt and derive: enough to see the service work. */
const NOTE = {
  encryptedContent: 'l4OQbuDpYvyCIT2ekKYPcfyz3c9fMl5jzQ==',
  nonce: 'JDdbHrvK4xAQg3wy',
  salt: 'CtFlnGaLGGjY0PvImrhtJA',
  ownerToken: 'w6tRZPe2Ab5RymvpTyydRk9pQZuRmX5sQyZBkUwcTMs',
  authToken: 'hrpRVJFb8ghtjpQQjQd2tRDMbsEwyKk3v1Hd7SZr9uA',
  contentType: 'text',
  maxViews: 1,
  expireSec: 3600,
  hasPassword: false,
};

/** The end of a start: where the service is, and something to try. */
export function greeting(address: string, host: string, dataDir: string): string {
  return `
Mayfly is ready: ${address}     (data in ${dataDir}; Ctrl-C stops everything)
${reach(host)}

Open it in a browser to send something. For programs:

See that it works:
  curl ${address}/api/health
Leave a note (made-up bytes stand in for the encrypted text):
  curl ${address}/api/note -H 'content-type: application/json' -d '${JSON.stringify(NOTE)}'
`;
}
