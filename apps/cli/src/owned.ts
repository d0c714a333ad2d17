import type { Kind } from '@mayfly/client';
import { type KeptItems, keptItems } from './kept.ts';

/** What is kept of something that was sent from here: enough to list and to delete it, and to open it only if its sender wants that. */
export type Owned = {
  kind: Kind;
  id: string;
  /** Address of the service. */
  server: string;
  ownerSecret: string;
  /** With its key. Only where the config file says so. */
  link?: string;
  /** File names, the type of a note, or what --name says. */
  name: string;
  createdAt: string;
  expiresAt: string;
};

export type OwnedItems = KeptItems<Owned>;

export function ownedItems(folder: string): OwnedItems {
  return keptItems(folder, 'Owner secrets');
}
