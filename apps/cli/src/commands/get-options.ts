import type { CommonOptions } from '../context.ts';
import type { UnlockOptions } from '../passwords.ts';

export type GetOptions = CommonOptions &
  UnlockOptions & {
    output?: string;
    only?: string[];
    force?: boolean;
    wait?: boolean;
  };

/** What `-o` calls stdout. */
export const STDOUT = '-';
