import { Unavailable } from '@mayfly/shared/errors';

const PREFIX = 'mayfly-store-';
const NAME = /^mayfly-store-([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/;

/** The name of the marker that a blob store bears: no payload has such a name. */
export const markerName = (id: string) => `${PREFIX}${id}`;
export const markerIdOf = (name: string): string | undefined => NAME.exec(name)?.[1];
export const MARKER_PREFIX = PREFIX;
export const MARKER_TEXT =
  'By this file a Mayfly database knows its blob store. Without it nothing is stored or deleted here: keep it, and back it up with the rest.\n';

/** The blob store is not the one that the database belongs to, or nobody can tell. The message is for operators. */
export class WrongStore extends Unavailable {
  override name = 'WrongStore';
}

/** A place for blobs as its marker is concerned. All reject with Unavailable when it does not answer. */
export interface MarkedPlace {
  /** Makes the folder or the bucket; fine when it is there. */
  create(): Promise<void>;
  /** Whether the folder or the bucket is there. */
  exists(): Promise<boolean>;
  /** Throws ConfigError when strangers can read what is stored. */
  assertPrivate(): Promise<void>;
  /** The ids of all markers that it bears. */
  markers(): Promise<string[]>;
  bears(id: string): Promise<boolean>;
  mark(id: string): Promise<void>;
  unmark(id: string): Promise<void>;
  /** For how long it may be taken to bear a marker that it was seen to bear: 0 where asking costs next to nothing. */
  markerFreshMs: number;
  /**
   * Brings blobs from where earlier versions put them to where they belong; resolves with how many. Only in a place that is
   * known to be the right one. They are served meanwhile; disposing of the place ends it.
   */
  moveIn?(): Promise<number>;
}

/** What the database remembers of its blob store. */
export interface StoreRecord {
  /** The id that the store's marker has to have, and whether a store has ever borne it. */
  read(): Promise<{ id: string; isMarked: boolean } | undefined>;
  /** The id for a marker: the one that is there already, else the given one. Any number of processes get the same. */
  settle(id: string): Promise<string>;
  /** A store bears the marker from now on. */
  marked(): Promise<void>;
  /** Whether there is, or was, an upload that was ever complete. */
  hasUploads(): Promise<boolean>;
  /** Some uploads whose blobs must be there. */
  sample(limit: number): Promise<string[]>;
}
