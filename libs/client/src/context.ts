import type { Clock } from './clock.ts';
import type { Kind } from './link.ts';
import type { PasswordCost } from './password.ts';
import type { Transport } from './transport.ts';

/** What a client's requests have in common. */
export type Context = {
  transport: Transport;
  baseUrl: string;
  passwordCost?: PasswordCost | undefined;
  clock?: Clock | undefined;
};

export type RequestOptions = { signal?: AbortSignal | undefined };

/** A new upload or note. */
export type Created = {
  kind: Kind;
  id: string;
  /** For those who may read it. */
  link: string;
  /** For its owner alone: whoever has it can delete. */
  ownerSecret: string;
};
