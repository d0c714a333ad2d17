// What a service wants to see from whoever creates: a key, or a token of who has signed in. Contract 16, decision key-for-a-tab.

const KEPT = 'mayfly-create-key';
const FORM = /^mf(k_[\w-]{22,512}|o_\d+\.[\w-]{80})$/;

/** Where a browser keeps nothing. */
let inMemory = '';

/** What was entered or given to this tab; it goes when the tab is closed. Empty when nothing was. */
export function createKey(): string {
  try {
    return sessionStorage.getItem(KEPT) ?? inMemory;
  } catch {
    return inMemory; // storage is switched off
  }
}

export function keepCreateKey(key: string) {
  inMemory = key;
  try {
    sessionStorage.setItem(KEPT, key);
  } catch {
    // No storage here: it lasts as long as the page.
  }
}

/** Whether it looks like a key. Anything else is sent to nobody. */
export const isKey = (text: string) => FORM.test(text);
