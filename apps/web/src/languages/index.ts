import { en, type Messages } from './en.ts';

/** Every language by its tag: its name for the menu, and its messages, which are loaded when it is chosen. */
export const LANGUAGES: Record<string, { name: string; load: () => Promise<Messages> }> = {
  en: { name: 'English', load: async () => en },
  de: { name: 'Deutsch', load: async () => (await import('./de.ts')).de },
};

const KEY = 'mayfly-language';

/** The messages of this page. Set once, before anything is shown; another language is another page load. */
export let t: Messages = en;

/** The one that was chosen here before, else the first of the browser's that there is, else English. */
export async function useBestLanguage() {
  const wanted = [remembered(), ...navigator.languages].map((tag) => tag?.toLowerCase().split('-')[0] ?? '');
  const tag = wanted.find((candidate) => Object.hasOwn(LANGUAGES, candidate)) ?? 'en';
  t = (await LANGUAGES[tag]?.load()) ?? en;
  document.documentElement.lang = t.tag;
  document.documentElement.dir = t.dir;
}

export function chooseLanguage(tag: string) {
  try {
    localStorage.setItem(KEY, tag);
  } catch {
    return; // no storage here: the browser's own language it is
  }
  location.reload();
}

function remembered(): string | null {
  try {
    return localStorage.getItem(KEY);
  } catch {
    return null; // storage is switched off
  }
}
