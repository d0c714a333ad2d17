const PURPOSES = ['privacy', 'imprint', 'report'] as const;
type Purpose = (typeof PURPOSES)[number];

const KEY = 'mayfly-brand';

/** How this instance calls and shows itself. The operator's, decision operators-brand; Mayfly's until it is known. */
export const brand = $state({
  name: 'Mayfly',
  logo: undefined as string | undefined,
  links: [] as { what: Purpose; href: string }[],
});

/** Shows what the last visit was told, and then what the service says. */
export async function showBrand() {
  apply(remembered());
  try {
    const answer = await fetch('/brand.json');
    const said = answer.ok ? Object(await answer.json()) : {};
    apply(said);
    localStorage.setItem(KEY, JSON.stringify(said));
  } catch {
    // Nothing depends on it.
  }
}

function apply({ name, color, logo, links }: Record<string, unknown>) {
  brand.name = typeof name === 'string' && name ? name : 'Mayfly';
  brand.logo = typeof logo === 'string' && /^\/[^/]/.test(logo) ? logo : undefined;
  const addresses = Object(links) as Record<string, unknown>;
  brand.links = PURPOSES.flatMap((what) => {
    const href = addresses[what];
    return typeof href === 'string' && /^(https?|mailto):/i.test(href) ? [{ what, href }] : [];
  });
  const root = document.documentElement;
  root.toggleAttribute('data-brand', typeof color === 'string');
  root.style.setProperty('--brand', typeof color === 'string' ? color : null);
}

function remembered(): Record<string, unknown> {
  try {
    return Object(JSON.parse(localStorage.getItem(KEY) ?? '{}'));
  } catch {
    return {}; // storage is switched off, or holds something else
  }
}
