/** The language of a tag: `en` of `en-GB`. */
export function languageOf(tag: string): string {
  return tag.toLowerCase().split('-')[0] ?? '';
}

/** The visitor's own variant of a language (`en-GB` of `en`), which decides how dates and numbers are written. */
export function localeOf(language: string, wanted: readonly string[]): string {
  return wanted.find((tag) => languageOf(tag) === language && isWellFormed(tag)) ?? language;
}

/** Some systems name locales that `Intl` throws at, such as `en-US@posix`. */
function isWellFormed(tag: string): boolean {
  try {
    return Intl.getCanonicalLocales(tag).length === 1;
  } catch {
    return false;
  }
}
