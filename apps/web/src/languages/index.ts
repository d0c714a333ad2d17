import { createSubscriber } from 'svelte/reactivity';
import { en, type Messages } from './en.ts';

/** Every language by its tag: its name for the menu, and its messages, which are loaded when it is chosen. */
export const LANGUAGES: Record<string, { name: string; load: () => Promise<Messages> }> = {
  en: { name: 'English', load: async () => en },
  de: { name: 'Deutsch', load: async () => (await import('./de.ts')).de },
};

const KEY = 'mayfly-language';

let messages: Messages = en;
let onChange = () => {};
const subscribe = createSubscriber((update) => {
  onChange = update;
});

/** The messages of the chosen language. What is on the page follows when another one is chosen. */
export const t: Messages = new Proxy(en, {
  get(_, name) {
    subscribe();
    return Reflect.get(messages, name);
  },
});

/** The one that was chosen here before, else the first of the browser's that there is, else English. */
export async function useBestLanguage() {
  const wanted = [remembered(), ...navigator.languages].map((tag) => tag?.toLowerCase().split('-')[0] ?? '');
  await use(wanted.find((candidate) => Object.hasOwn(LANGUAGES, candidate)) ?? 'en');
}

/** In place: what a page shows or somebody has typed may be there only once. Rejects when the language cannot be loaded. */
export async function chooseLanguage(tag: string) {
  await use(tag);
  try {
    localStorage.setItem(KEY, tag);
  } catch {
    // No storage here: the next page has the browser's own language.
  }
}

async function use(tag: string) {
  messages = (await LANGUAGES[tag]?.load()) ?? en;
  document.documentElement.lang = messages.tag;
  document.documentElement.dir = messages.dir;
  onChange();
}

function remembered(): string | null {
  try {
    return localStorage.getItem(KEY);
  } catch {
    return null; // storage is switched off
  }
}
