const STEPS = 20;

/** The page's icon: a ring that fills while something is under way (`share` from 0 to 1), the usual one otherwise. */
export function showInIcon(share: number | undefined) {
  const icon = document.querySelector<HTMLLinkElement>('link[rel=icon]');
  const href = share === undefined ? '/icon.svg' : `data:image/svg+xml,${encodeURIComponent(ring(share))}`;
  if (icon && icon.getAttribute('href') !== href) icon.href = href;
}

/** A new picture for every twentieth: each is one more that the browser decodes. */
function ring(share: number): string {
  const filled = (Math.round(share * STEPS) / STEPS) * 100;
  const circle = 'cx="16" cy="16" r="10" fill="none" stroke="#fff" stroke-width="5" transform="rotate(-90 16 16)"';
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="7" fill="#0b6b63"/><circle ${circle} stroke-opacity=".3"/><circle ${circle} pathLength="100" stroke-dasharray="${filled} 100"/></svg>`;
}
