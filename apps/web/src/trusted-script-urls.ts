type Policy = { createScriptURL(url: string): string };
type PolicyFactory = { createPolicy(name: string, rules: Policy): Policy };

const factory = (globalThis as { trustedTypes?: PolicyFactory }).trustedTypes;

/** Scripts of this app that run apart from the page. The content security policy lets no other text become one. */
const policy = factory?.createPolicy('mayfly', {
  createScriptURL(url) {
    const { origin, pathname } = new URL(url, location.origin);
    if (origin === location.origin && /^\/((assets|handover|src)\/|(offline|idle)\.js$)/.test(pathname)) return url;
    throw new TypeError('not a script of this app');
  },
});

export function trustedScriptUrl(url: string): string {
  return policy?.createScriptURL(url) ?? url;
}
