let isFirst = true;

/** For a heading that appears with a new step: whoever listens or types is taken to it. */
export function focused(element: HTMLElement) {
  element.tabIndex = -1;
  // The first view of a page begins where browsers begin.
  if (!isFirst) element.focus();
  isFirst = false;
}
