/** What the table of uploads knows about payloads. Callers compare it with what the blob store holds. */
export interface UploadReconciliation {
  /** Those of these ids whose payload belongs somewhere: to an upload that has one, or to a deletion that is noted. */
  known(ids: string[]): Promise<Set<string>>;
  /** Available uploads made before `before`, in rising order of ids, after `after` up to and with `upTo` (undefined: no bound). */
  available(range: { after: string; upTo: string | undefined; before: Date; limit: number }): Promise<string[]>;
  /** Notes payloads for deletion that belong nowhere; those that came to belong meanwhile are left out. Resolves with how many. */
  noteOrphans(ids: string[]): Promise<number>;
  /** Available uploads whose payload is lost become tombstones, as if they had expired. Resolves with how many. */
  retireLost(ids: string[], tombstoneTtlSec: number): Promise<number>;
}
