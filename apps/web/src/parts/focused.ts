/** For a heading that appears with a new step: whoever listens or types is taken to it. */
export function focused(element: HTMLElement) {
  element.tabIndex = -1;
  // The first view of a page begins where browsers begin.
  if (document.readyState === 'complete' && document.activeElement !== document.body) element.focus();
  else if (performance.now() > 3_000) element.focus();
}
