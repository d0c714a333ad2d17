import type { ServiceConfig } from '@mayfly/client';

/** Whether whoever creates has to show something that the page can send. A proxy's word is none. */
export const needsKey = (config: ServiceConfig | undefined) =>
  config?.createGuard === 'key' || config?.createGuard === 'oidc';

/** What asks for it. Where everybody may create, its code is not loaded. */
export const loadGuard = async (config: ServiceConfig | undefined) =>
  config?.createGuard === 'oidc'
    ? (await import('../sign-in/sign-in-link.svelte')).default
    : (await import('./create-key.svelte')).default;

/** Takes whoever has nothing to show to where they get it. */
export const focusGuard = (form: HTMLElement) =>
  form.querySelector<HTMLElement>('[data-create-key] :is(input, a)')?.focus();
