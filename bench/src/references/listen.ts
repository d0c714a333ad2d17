import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** About 300 bytes of JSON, as an answer of /api/info is. */
export const SAMPLE = {
  id: '0d7c9f9a-6f0e-4f0a-9f60-5d7b8f0a1c2d',
  size: 1_048_576,
  fileCount: 1,
  hasPassword: false,
  salt: 'AAECAwQFBgcICQoLDA0ODw',
  encryptedMeta: 'c2VhbGVkIG5hbWVzIGFuZCBzaXplcyBvZiBmaWxlcw==',
  nonce: 'AAECAwQFBgcICQoL',
  downloadCount: 0,
  maxDownloads: 100,
  expiresAt: '2026-01-01T00:00:00.000Z',
  createdAt: '2026-01-01T00:00:00.000Z',
};

/** Listens on a free port and tells it to the process that has started this one, whose end is its own, too. */
export function listen(server: Server) {
  server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port)); // a TCP server
  process.once('disconnect', () => process.exit(0));
}
