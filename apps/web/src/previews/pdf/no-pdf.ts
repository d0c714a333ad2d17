/** Why there is nothing to see: a password, a part of this app that did not come, or a document that is none. */
export type WhyNoPdf = 'protected' | 'no-viewer' | 'unshowable';

export class NoPdf extends Error {
  readonly why: WhyNoPdf;
  constructor(why: WhyNoPdf) {
    super(why);
    this.why = why;
  }
}
