// What shows a link. Loaded before anything is sent: the connection may be gone by then.
export { default as Done } from './done.svelte';
export { default as EarlyLink } from './early-link.svelte';
