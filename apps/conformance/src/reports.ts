import { count, type Result } from './run.ts';

// A report for people, one for CI systems (JUnit), one for programs.

export function plainLine({ section, name, outcome, reason }: Result): string {
  const mark = { passed: 'ok  ', failed: 'FAIL', skipped: 'skip' }[outcome];
  const why = reason ? reason.split('\n').map((line) => `\n       ${printable(line)}`) : [];
  return `${mark} ${section.padEnd(4)} ${name}${why.join('')}`;
}

export const summary = (results: Result[]) =>
  `${count(results, 'passed')} passed, ${count(results, 'failed')} failed, ${count(results, 'skipped')} skipped`;

export const json = (target: string, results: Result[]) =>
  `${JSON.stringify({ target, passed: count(results, 'passed'), failed: count(results, 'failed'), skipped: count(results, 'skipped'), results }, undefined, 2)}\n`;

export function junit(results: Result[]): string {
  const seconds = results.reduce((sum, result) => sum + result.seconds, 0);
  const attributes = `name="mayfly-conformance" tests="${results.length}" failures="${count(results, 'failed')}" skipped="${count(results, 'skipped')}" time="${seconds.toFixed(3)}"`;
  const cases = results.map(({ section, name, outcome, reason = '', seconds }) => {
    const head = `<testcase classname="${xml(`section ${section}`)}" name="${xml(name)}" time="${seconds.toFixed(3)}"`;
    if (outcome === 'passed') return `    ${head}/>`;
    const tag = outcome === 'failed' ? 'failure' : 'skipped';
    return `    ${head}><${tag} message="${xml(reason)}"/></testcase>`;
  });
  return `<?xml version="1.0" encoding="UTF-8"?>\n<testsuites>\n  <testsuite ${attributes}>\n${cases.join('\n')}\n  </testsuite>\n</testsuites>\n`;
}

/** What a server says may hold anything: control characters are shown, not obeyed. */
const printable = (text: string) =>
  text.replaceAll(/\p{Cc}|\p{Cf}/gu, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);

const ENTITIES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', '\n': '&#10;' };
const xml = (text: string) =>
  text
    .split('\n')
    .map(printable)
    .join('\n')
    .toWellFormed()
    .replaceAll(/[&<>"\n]/g, (character) => ENTITIES[character] ?? character);
