import { argumentsOf, type Catalogue, type Part, partsOf } from './catalogue.ts';

// A text without values is a string, one with values a function of them. Values are named, so no two can be mixed up.

/** A module of texts, as a function of how numbers and dates are written: no parser is needed where it runs. */
export function compileCatalogue(catalogue: Catalogue): string {
  return `export default (f) => (${toObject(catalogue, compileText)});`;
}

/** What TypeScript knows of the texts: their names, and which values they need. */
export function declareCatalogue(catalogue: Catalogue): string {
  return `// From en.json, by build/texts/check.ts.
declare module '*.json?texts' {
  const texts: (formats: import('./formats.ts').Formats) => ${toObject(catalogue, declareText, ';')};
  export default texts;
}
`;
}

function toObject(catalogue: Catalogue, toCode: (text: string) => string, separator = ','): string {
  const entries = Object.entries(catalogue).map(([key, value]) => {
    const code = typeof value === 'string' ? toCode(value) : toObject(value, toCode, separator);
    return `${JSON.stringify(key)}: ${code}${separator}\n`;
  });
  return `{\n${entries.join('')}}`;
}

function compileText(text: string): string {
  const parts = partsOf(text);
  const code = toExpression(parts);
  return argumentsOf(parts).size > 0 ? `(v) => ${code}` : code;
}

function declareText(text: string): string {
  const values = [...argumentsOf(partsOf(text))].map(([name, type]) => `${name}: ${type}`);
  return values.length > 0 ? `(values: { ${values.join('; ')} }) => string` : 'string';
}

function toExpression(parts: Part[]): string {
  return parts.map(toTerm).join(' + ') || "''";
}

function toTerm(part: Part): string {
  if (part.kind === 'literal') return JSON.stringify(part.text);
  const value = `v.${part.name}`;
  if (part.kind === 'count') return `f.number(${value})`;
  if (part.kind === 'value') return `f.${part.format}(${value})`;
  const options = Object.entries(part.options).map(
    ([option, inner]) => `${JSON.stringify(option)}: ${toExpression(inner)}`,
  );
  return `f.${part.isOrdinal ? 'ordinal' : 'plural'}(${value}, { ${options.join(', ')} })`;
}
