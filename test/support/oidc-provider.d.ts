/** What the tests use of a package that has no types. */
declare module 'oidc-provider' {
  import type { IncomingMessage, ServerResponse } from 'node:http';

  type Context = { oidc: { client: { clientId: string }; session: { accountId: string }; params: { scope: string } } };

  export default class Provider {
    constructor(issuer: string, configuration: Record<string, unknown>);
    callback(): (request: IncomingMessage, response: ServerResponse) => void;
    interactionFinished(request: IncomingMessage, response: ServerResponse, result: unknown): Promise<void>;
    Client: { prototype: { redirectUriAllowed(uri: string): boolean } };
    Grant: new (of: {
      clientId: string;
      accountId: string;
    }) => { addOIDCScope(scope: string): void; save(): Promise<string> };
  }
}
