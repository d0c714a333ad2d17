/** What the table of uploads knows about payloads. Callers compare it with what the blob store holds. */
export interface UploadReconciliation {
  /** Those of these ids whose payload belongs somewhere: to an upload that has one, or to a queued deletion. */
  known(ids: string[]): Promise<Set<string>>;
  /** Those of these ids that are coming in parts. */
  arriving(ids: string[]): Promise<Set<string>>;
  /** Available uploads made before `before`, in rising order of ids, after `after` up to and with `upTo` (undefined: no bound). */
  available(range: {
    after: string;
    upTo: string | undefined;
    before: Date;
    limit: number;
  }): Promise<{ id: string; isLost: boolean }[]>;
  /** Notes payloads for deletion that belong nowhere; those that came to belong meanwhile are left out. Resolves with how many. */
  recordOrphans(ids: string[]): Promise<number>;
  /**
   * Available uploads whose payload is lost count as expired until it is found again. Nothing is erased: they go when their
   * own time is over. Resolves with how many.
   */
  markLost(ids: string[]): Promise<number>;
  /** Their payloads are there again, and so are they. Resolves with how many. */
  markFound(ids: string[]): Promise<number>;
}
