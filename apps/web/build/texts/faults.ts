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

/** Each form that the language needs for a number of things, and no form that it does not have. */
function pluralFaults(tag: string, parts: Part[]): string[] {
  return parts.flatMap((part) => {
    if (part.kind !== 'plural') return [];
    const rules = new Intl.PluralRules(tag, { type: part.isOrdinal ? 'ordinal' : 'cardinal' });
    const forms = Object.keys(part.options).filter((form) => !form.startsWith('='));
    // The forms of millions and of fractions, which some languages have, are `other` in most texts.
    const needed = new Set(Array.from({ length: 1000 }, (_, count) => rules.select(count)));
    const missing = [...needed.difference(new Set(forms))].map((form) => `lacks the plural form ${form}`);
    const known = new Set<string>(rules.resolvedOptions().pluralCategories);
    const unknown = forms
      .filter((form) => !known.has(form))
      .map((form) => `has ${form}, no plural form of the language`);
    return [...missing, ...unknown, ...Object.values(part.options).flatMap((inner) => pluralFaults(tag, inner))];
  });
}
