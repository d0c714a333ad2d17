import type { IncomingMessage, ServerResponse } from 'node:http';
import { drain } from '@mayfly/shared/drain';
import type { HttpError } from '@mayfly/shared/errors';
import { writeError } from './raw-answer.ts';

/** Answers a request that no service takes, or that came back from one without an answer. */
export function refuse(request: IncomingMessage, response: ServerResponse, error: HttpError) {
  if (response.destroyed) return;
  writeError(response, error);
  drain(request);
}
