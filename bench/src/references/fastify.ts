import Fastify from 'fastify';
import { listen, SAMPLE } from './listen.ts';

// Reference: what Fastify costs for one small JSON answer with a serialiser made from a schema.

const app = Fastify();
const properties = Object.fromEntries(Object.entries(SAMPLE).map(([name, value]) => [name, { type: typeof value }]));
const schema = { response: { 200: { type: 'object', properties } } };
app.get('/api/info/:id', { schema }, async () => SAMPLE);
await app.ready();
listen(app.server);
