import type { IncomingMessage, ServerResponse } from 'node:http';
import { drain } from '@mayfly/shared/drain';
import type { HttpError } from '@mayfly/shared/errors';
import { sendRaw } from '@mayfly/shared/raw-answers';

/** Answers a request that no service takes, or that came back from one without an answer. */
export function refuse(request: IncomingMessage, response: ServerResponse, error: HttpError) {
  if (response.destroyed) return;
  sendRaw(response, error);
  drain(request);
}
