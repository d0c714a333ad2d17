export { readRefusal } from '../answer-body.ts';
export { whenCreating } from '../creating-transport.ts';
export { newWebhook } from '../new-webhook.ts';
export { whenBusy } from '../working-transport.ts';
export { fileSource } from './file-source.ts';
export { fileSpool } from './file-spool.ts';
export { disposed, release } from './release.ts';
export { nodeTransport } from './transport.ts';
