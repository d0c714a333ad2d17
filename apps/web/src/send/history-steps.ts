// Decision link-in-the-history: Back leads from the link to the form, Forward to the link again. An entry of the history
// says which step it shows, and nothing of what was sent: its address stays the page's.

type Entry = { step: 'choose' } | { step: 'done'; number: number };

/** Of what was sent last from this page. */
let number = 0;

/** To be called where the link is shown for the first time. */
export function enterLink() {
  history.replaceState({ step: 'choose' } satisfies Entry, '');
  number += 1;
  history.pushState({ step: 'done', number } satisfies Entry, '');
}

export function enterForm() {
  history.pushState({ step: 'choose' } satisfies Entry, '');
}

/** The step that an entry shows; undefined for one that is of another page, or of a link that this page does not have. */
export function stepOf(state: unknown): Entry['step'] | undefined {
  const entry = state as Entry | null;
  if (entry?.step === 'done') return entry.number === number ? 'done' : 'choose';
  return entry?.step === 'choose' ? 'choose' : undefined;
}
