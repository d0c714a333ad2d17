import { getReporting as ask, getNotice as get } from '@mayfly/client/notice';
import type { Task } from './task.ts';

/** Why the operator has blocked something; undefined when that is not why it is not there. */
export function getNotice({ id }: { id: string }, { options, signal }: Task) {
  return get(options, { baseUrl: options.baseUrl, id }, { signal });
}

/** How something can be reported; undefined where nothing can. */
export function getReporting(_: undefined, { options, signal }: Task) {
  return ask(options, { baseUrl: options.baseUrl }, { signal });
}
