import { type Report, sendReport } from '@mayfly/client/reports';
import type { Task } from './task.ts';

/** Tells the operator. What is disclosed is sealed here. */
export function report({ id, ...what }: Report & { id: string }, { options, signal }: Task) {
  return sendReport(options, { baseUrl: options.baseUrl, id }, what, { signal });
}
