// What a statement may look like where the tables are distributed by the ids of their items. Decision one-id-a-statement.

/** Tables that stay in one place, as does the operator's desk. */
export const LOCAL = ['files.storage', 'files.request_storage', 'files.blob_store', 'notes.storage'];
const isLocal = (table = 'desk.') => LOCAL.includes(table) || table.startsWith('desk.');
const TABLE = String.raw`(?:(?:insert into|update|delete from|from|join|using)\s+)((?:files|notes|desk)\.\w+)`;
const OF_ONE_ID = /\b(?:\w+\.)?(?:id|upload_id|item_id|request_id) = (?:any\(\$\d+::uuid\[\]\)|\$\d+)/;

/** Why a distributed database would refuse a statement, or lock what it cannot; undefined when it would not. */
export function misshapen(statement: string, parameters: readonly unknown[]): string | undefined {
  const text = statement.replaceAll('"', '').replaceAll(/--.*$/gm, '').replaceAll(/\s+/g, ' ').trim();
  if (text.includes('make_interval(')) return 'a time and an interval are added';
  if (/(?<!exists )\(select from (files|notes)\.[^()]*\) as \w+/.test(text)) return 'rows without columns';
  for (const part of partsOf(text)) {
    const tables = [...part.matchAll(new RegExp(TABLE, 'g'))].map(([, table = '']) => table);
    const isChange = /^(update|delete)\b/.test(part);
    // What changes one of these reads others like any select.
    if (isChange ? isLocal(tables[0]) : tables.every(isLocal)) continue;
    const isLock = / for (update|share)\b/.test(part);
    if ((isChange || isLock) && !OF_ONE_ID.test(part)) return `no id is named: ${part}`;
    const lists = [...part.matchAll(/= any\(\$(\d+)::uuid\[\]\)/g)].map(
      ([, at]) => new Set(parameters[Number(at) - 1] as string[]),
    );
    if ((isChange || isLock) && lists.length > 0 && !lists.some(({ size }) => size < 2))
      return `several ids are named: ${part}`;
    if (isLock && / join /.test(part)) return `a lock beside a join: ${part}`;
    if (isChange && /\bcase\b(?:(?!\bend\b).)*\bnow\(\)/.test(part)) return `the time in a case: ${part}`;
    if (isChange && /coalesce\([^()]*now\(\)/.test(part)) return `the time in a coalesce: ${part}`;
    if (isChange && /\[[^\]]*:[^\]:]+\]/.test(part.replaceAll('::', ''))) return `a slice of an array: ${part}`;
  }
  return undefined;
}

/** The bodies of common table expressions, innermost first, and what is left of the statement without them. */
function partsOf(text: string): string[] {
  const begin = / as (?:materialized )?\( ?(?=(?:select|insert|update|delete|with)\b)/.exec(text);
  if (!begin) return [text];
  const from = begin.index + begin[0].length;
  let depth = 1;
  let end = from;
  for (; end < text.length && depth > 0; end += 1) {
    if (text[end] === '(') depth += 1;
    if (text[end] === ')') depth -= 1;
  }
  const rest = `${text.slice(0, begin.index)}${text.slice(end)}`;
  // With its last expression the list of names goes as well.
  return [
    ...partsOf(text.slice(from, end - 1).trim()),
    ...partsOf(rest.replace(/^with \w+(, \w+)* (?=select|insert|update|delete)/, '')),
  ];
}
