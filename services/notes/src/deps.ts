import type { App } from '@mayfly/shared/app';
import type { Config } from '@mayfly/shared/config';
import type { BodyBudget } from '@mayfly/shared/json-bodies';
import type { Logger } from '@mayfly/shared/logger';
import type { noteSettings, ownerSettings } from '@mayfly/shared/settings';
import type { Funnel } from '@mayfly/shared/telemetry/funnel';
import type { Notes } from '@mayfly/store/notes';
import type { OwnedItems } from '@mayfly/store/owned-items';
import type { Blocks } from '@mayfly/store/reports';
import type { ViewPatience } from './large-views.ts';

export type { App };

export type NotesDeps = {
  notes: Notes;
  owned: OwnedItems;
  /** Where reports are taken. */
  blocks?: Blocks | undefined;
  limits: Config<typeof noteSettings & typeof ownerSettings>;
  logger: Logger;
  /** What the JSON bodies of this process may take. */
  bodies?: BodyBudget;
  /** Counts what happens to notes. */
  funnel: Funnel;
  newId?: () => string;
  viewPatience?: ViewPatience | undefined;
};
