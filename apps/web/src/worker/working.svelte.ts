import { SvelteSet } from 'svelte/reactivity';

/** Calls whose request the service has refused for now, and that work or wait for a place. Contract 18. */
export const working = new SvelteSet<number>();
