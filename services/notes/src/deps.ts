import type { App } from '@mayfly/shared/app';
import type { Config } from '@mayfly/shared/config';
import type { BodyBudget } from '@mayfly/shared/json-bodies';
import type { Logger } from '@mayfly/shared/logger';
import type { noteSettings } from '@mayfly/shared/settings';
import type { Funnel } from '@mayfly/shared/telemetry/funnel';
import type { Notes } from '@mayfly/store/notes';

export type { App };

export type NotesDeps = {
  notes: Notes;
  limits: Config<typeof noteSettings>;
  logger: Logger;
  /** What the JSON bodies of this process may take. */
  bodies?: BodyBudget;
  /** Counts what happens to notes. */
  funnel: Funnel;
  newId?: () => string;
};
