/** For a heading that appears with a new step: whoever listens or types is taken to it. */
export function focused(element: HTMLElement) {
  element.tabIndex = -1;
  // The first view of a page begins where browsers begin; a step is something that a person has done.
  if (navigator.userActivation?.hasBeenActive ?? true) element.focus();
}
