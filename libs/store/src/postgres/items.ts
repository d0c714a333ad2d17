import type { Selectable } from 'kysely';
import type { GoneReason, Password } from '../uploads.ts';
import type { NotesTable, UploadsTable } from './schema.ts';

/** What a look-up reads of an upload and of a note alike. */
export const ITEM_COLUMNS = [
  'id',
  'owner_hash',
  'auth_hash',
  'salt',
  'has_password',
  'password_algo',
  'password_salt',
  'expires_at',
  'created_at',
] as const;

type Row = Pick<Selectable<UploadsTable | NotesTable>, (typeof ITEM_COLUMNS)[number]> & {
  /** Its availability now. */
  status: 'available' | GoneReason;
};

type Facts = {
  id: string;
  status: 'available';
  ownerHash: Buffer;
  authHash: Buffer;
  salt: string;
  password?: Password;
};

/** What an item that can be used has, whatever it is; undefined when it cannot be, or was erased. */
export function availableItem(row: Row): (Facts & { expiresAt: Date; createdAt: Date }) | undefined {
  const { id, status, owner_hash: ownerHash, auth_hash: authHash, salt } = row;
  if (status !== 'available' || !authHash || salt === null) return undefined;
  const { password_algo: algo, password_salt: passwordSalt, expires_at: expiresAt, created_at: createdAt } = row;
  const password = algo && passwordSalt ? { password: { algo, salt: passwordSalt } } : {};
  return { id, status, ownerHash, authHash, salt, ...password, expiresAt, createdAt };
}

/** What is left to know of any other. */
export function goneItem({ id, status, owner_hash: ownerHash, has_password: hasPassword }: Row) {
  return { id, status: status === 'available' ? ('expired' as const) : status, ownerHash, hasPassword };
}
