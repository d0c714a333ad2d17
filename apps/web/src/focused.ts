let isFirst = true;

/** For a heading that appears with a new step: whoever listens or types is taken to it. */
export function focused(element: HTMLElement) {
  element.tabIndex = -1;
  // The first view of a page begins where browsers begin.
  if (!isFirst) element.focus();
  isFirst = false;
}

/** For what takes the place of a button that had the focus. */
export const begin = (element: HTMLElement) => element.focus();

/** Takes the focus to a heading or another place that has none by itself. Nothing happens when there is no such place. */
export function focusOn(element: HTMLElement | null | undefined) {
  if (!element) return;
  if (element.tabIndex < 0) element.tabIndex = -1;
  element.focus();
}
