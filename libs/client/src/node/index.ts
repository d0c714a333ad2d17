export { whenCreating } from '../creating-transport.ts';
export { newWebhook } from '../new-webhook.ts';
export { fileSource } from './file-source.ts';
export { fileSpool } from './file-spool.ts';
export { nodeTransport } from './transport.ts';
