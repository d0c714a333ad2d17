import { createSubscriber } from 'svelte/reactivity';
import english from './en.json?texts';
import { type Formats, formatsFor } from './formats.ts';
import { languageOf, localeOf } from './locale.ts';

type Texts = ReturnType<typeof english>;
type Language = { name: string; dir?: 'rtl'; load: () => Promise<{ default: (formats: Formats) => Texts }> };

/** Every language by its tag: its own name for the menu, and its texts, which are loaded when it is chosen. */
export const LANGUAGES: Record<string, Language> = {
  de: { name: 'Deutsch', load: () => import('./de.json?texts') },
  en: { name: 'English', load: async () => ({ default: english }) },
  es: { name: 'Español', load: () => import('./es.json?texts') },
  fr: { name: 'Français', load: () => import('./fr.json?texts') },
  it: { name: 'Italiano', load: () => import('./it.json?texts') },
  nl: { name: 'Nederlands', load: () => import('./nl.json?texts') },
  pl: { name: 'Polski', load: () => import('./pl.json?texts') },
  pt: { name: 'Português (Brasil)', load: () => import('./pt.json?texts') },
  tr: { name: 'Türkçe', load: () => import('./tr.json?texts') },
  uk: { name: 'Українська', load: () => import('./uk.json?texts') },
  ar: { name: 'العربية', dir: 'rtl', load: () => import('./ar.json?texts') },
  ja: { name: '日本語', load: () => import('./ja.json?texts') },
  zh: { name: '中文（简体）', load: () => import('./zh.json?texts') },
  'zh-Hant': { name: '中文（繁體）', load: () => import('./zh-Hant.json?texts') },
};

const KEY = 'mayfly-language';

const inEnglish = formatsFor('en');
let current = { tag: 'en', ...inEnglish, ...english(inEnglish) };
let onChange = () => {};
const subscribe = createSubscriber((update) => {
  onChange = update;
});

/** The texts of the chosen language, and how it writes numbers and dates. What is on the page follows when another one is chosen. */
export const t: typeof current = new Proxy(current, {
  get(_, name) {
    subscribe();
    return Reflect.get(current, name);
  },
});

/** The one that was chosen here before, else the first of the browser's that there is, else English. */
export async function useBestLanguage() {
  const wanted = [remembered() ?? '', ...navigator.languages].map(languageOf);
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
  const language = LANGUAGES[tag];
  if (!language) return;
  const { default: texts } = await language.load();
  const formats = formatsFor(localeOf(tag, navigator.languages), language.dir);
  current = { tag, ...formats, ...texts(formats) };
  document.documentElement.lang = tag;
  document.documentElement.dir = language.dir ?? 'ltr';
  onChange();
}

function remembered(): string | null {
  try {
    return localStorage.getItem(KEY);
  } catch {
    return null; // storage is switched off
  }
}
