/** What keeps a store from starting, as one sentence for the person who started it. */
export class CannotStart extends Error {
  override name = 'CannotStart';
}
