// npm run conformance: the contract on a server, the format on a client.
import '../apps/conformance/src/main.ts';
