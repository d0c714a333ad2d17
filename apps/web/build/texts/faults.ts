import { argumentsOf, type Catalogue, type Part, partsOf, textsOf } from './catalogue.ts';

/** What is wrong with a translation, compared with the English texts: one line each. */
export function faultsOf(tag: string, translation: Catalogue, english: Catalogue): string[] {
  const wanted = new Map(textsOf(english));
  const found = new Map(textsOf(translation));
  const missing = [...wanted.keys()].filter((name) => !found.has(name)).map((name) => `${name} is missing`);
  const others = [...found].flatMap(([name, text]) =>
    faultsOfText(tag, text, wanted.get(name)).map((fault) => `${name} ${fault}`),
  );
  return [...missing, ...others].map((fault) => `${tag}.json: ${fault}`);
}

function faultsOfText(tag: string, text: string, english: string | undefined): string[] {
  if (english === undefined) return ['is not in en.json'];
  try {
    const parts = partsOf(text);
    const differs = describe(parts) !== describe(partsOf(english));
    const values = differs ? [`needs other values than in English: ${describe(parts) || 'none'}`] : [];
    return [...values, ...(text.trim() === '' ? ['is empty'] : []), ...pluralFaults(tag, parts)];
  } catch (error) {
    return [`cannot be read: ${error instanceof Error ? error.message : error}`];
  }
}

function describe(parts: Part[]): string {
  return [...argumentsOf(parts)]
    .map(([name, type]) => `${name} (${type})`)
    .sort()
    .join(', ');
}

/** Each form of the language once, and no form that it does not have. */
function pluralFaults(tag: string, parts: Part[]): string[] {
  return parts.flatMap((part) => {
    if (part.kind !== 'plural') return [];
    const { pluralCategories } = new Intl.PluralRules(tag, {
      type: part.isOrdinal ? 'ordinal' : 'cardinal',
    }).resolvedOptions();
    const forms = Object.keys(part.options).filter((form) => !form.startsWith('='));
    const missing = pluralCategories
      .filter((form) => !forms.includes(form))
      .map((form) => `lacks the plural form ${form}`);
    const unknown = forms
      .filter((form) => !pluralCategories.some((one) => one === form))
      .map((form) => `has the plural form ${form}, which the language has not`);
    return [...missing, ...unknown, ...Object.values(part.options).flatMap((inner) => pluralFaults(tag, inner))];
  });
}
