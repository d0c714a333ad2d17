import { noteCeilingContract, uploadCeilingContract } from './contract-ceilings.ts';
import { fileRequestsContract } from './contract-file-requests.ts';
import { leasesContract } from './contract-leases.ts';
import { notesContract } from './contract-notes.ts';
import { noticesContract } from './contract-notices.ts';
import { ownedContract } from './contract-owned-items.ts';
import { reportsContract } from './contract-reports.ts';
import { sessionsContract } from './contract-sessions.ts';
import { uploadsContract } from './contract-uploads.ts';
import { openOwnedNotes, openOwnedUploads } from './owned-under-test.ts';
import { type OpenDatabase, openTables } from './tables.ts';

/** What stores of rows promise, in PostgreSQL: on tables of their own every time, to which `openDatabase` leads. */
export function postgresContracts(openDatabase: OpenDatabase) {
  const open = (maxBytes?: number) => openTables(openDatabase, maxBytes);
  uploadsContract(open);
  notesContract(open);
  uploadCeilingContract(open);
  noteCeilingContract(open);
  sessionsContract(open);
  leasesContract(open);
  fileRequestsContract(open);
  reportsContract(open);
  ownedContract('uploads', async () => {
    const uploads = await openOwnedUploads(open);
    return { ...uploads, use: uploads.useWhole };
  });
  ownedContract('notes', () => openOwnedNotes(open));
  noticesContract('uploads', () => openOwnedUploads(open));
  noticesContract('notes', () => openOwnedNotes(open));
}
