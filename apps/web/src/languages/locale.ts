/** The language of a tag as the files have it: `en` of `en-GB`, `zh-Hant` of `zh-TW`, where Chinese is written in other characters. */
export function languageOf(tag: string): string {
  const language = tag.toLowerCase().split('-')[0] ?? '';
  return language === 'zh' && isTraditional(tag) ? 'zh-Hant' : language;
}

/** The visitor's own variant of a language (`en-GB` of `en`), which decides how dates and numbers are written. */
export function localeOf(language: string, wanted: readonly string[]): string {
  return wanted.find((tag) => languageOf(tag) === language && isWellFormed(tag)) ?? language;
}

function isTraditional(tag: string): boolean {
  return isWellFormed(tag) && new Intl.Locale(tag).maximize().script === 'Hant';
}

/** Some systems name locales that `Intl` throws at, such as `en-US@posix`. */
function isWellFormed(tag: string): boolean {
  try {
    return Intl.getCanonicalLocales(tag).length === 1;
  } catch {
    return false;
  }
}
