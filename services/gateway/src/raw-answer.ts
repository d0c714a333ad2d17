import type { ServerResponse } from 'node:http';
import type { HttpError } from '@mayfly/shared/errors';
import { sendRaw } from '@mayfly/shared/raw-answers';

/** Answers in the place of a service: what it still answers goes nowhere. */
export function answerInstead(response: ServerResponse, error: HttpError) {
  sendRaw(response, error);
  Object.assign(response, { writeHead: () => response, write: () => true, end: () => response });
}
