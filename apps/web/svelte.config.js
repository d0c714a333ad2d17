// Nothing but the defaults; svelte-check looks for this file.
export default {};
