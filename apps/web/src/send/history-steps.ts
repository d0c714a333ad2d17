// Decision link-in-the-history: Back leads from the link to the form, Forward to the link again. An entry of the history
// says which step it shows, and nothing of what was sent: its address stays the page's.

type Entry = { step: 'choose' } | { step: 'done'; mark: string };

/** Of what was sent last from this page: by chance, since entries outlive the page, and a number would come again after a reload. */
let mark = '';

/** To be called where the link is shown for the first time. */
export function enterLink() {
  history.replaceState({ step: 'choose' } satisfies Entry, '');
  mark = crypto.randomUUID();
  history.pushState({ step: 'done', mark } satisfies Entry, '');
}

export function enterForm() {
  history.pushState({ step: 'choose' } satisfies Entry, '');
}

/** The step that an entry shows; undefined for one that is of another page, or of a link that this page does not have. */
export function stepOf(state: unknown): Entry['step'] | undefined {
  const entry = state as Entry | null;
  if (entry?.step === 'done') return entry.mark === mark ? 'done' : 'choose';
  return entry?.step === 'choose' ? 'choose' : undefined;
}
