import { IDBFactory } from 'fake-indexeddb';
import { describe, expect, test } from 'vitest';
import { findFiles } from '../src/unfinished/find-files.ts';
import { allUnfinished, forgetUnfinished, keepUnfinished, type Unfinished } from '../src/unfinished/unfinished-list.ts';

const chosen = (name: string, content: string, lastModified = 1) => ({
  name,
  file: new File([content], name, { lastModified }),
});

function unfinished(files: ReturnType<typeof chosen>[], id = 'an-id'): Unfinished {
  const identities = files.map(({ name, file: { size, lastModified } }) => ({ name, type: '', size, lastModified }));
  const secrets = { link: 'a link', ownerSecret: 'an owner secret', secret: 'a secret', salt: 'a salt' };
  const rest = {
    baseUrl: 'https://mayfly.example',
    segmentsPerPart: 128,
    paddedSize: 10,
    endsAt: '2030-01-01T00:00:00.000Z',
  };
  return {
    upload: { id, ...secrets, ...rest, files: identities },
    chosen: files.map(({ name }) => ({ name })),
    expireSec: 3600,
    maxDownloads: 3,
    hasPassword: false,
  };
}

describe('the files of an unfinished upload', () => {
  const [a, b] = [chosen('a.txt', 'one'), chosen('folder/b.txt', 'three')];
  const item = unfinished([a, b]);

  test('are found in any order, among others', () => {
    expect(findFiles(item, [chosen('c.txt', ''), b, a])).toEqual({ files: [a, b], missing: [], changed: [] });
  });

  test('are missing under another name', () => {
    expect(findFiles(item, [a, chosen('b.txt', 'three')])).toEqual({
      files: [a],
      missing: ['folder/b.txt'],
      changed: [],
    });
  });

  test.each([
    ['size', chosen('a.txt', 'other')],
    ['time', chosen('a.txt', 'one', 2)],
  ])('have changed with another %s', (_, other) => {
    expect(findFiles(item, [other, b])).toEqual({ files: [other, b], missing: [], changed: ['a.txt'] });
  });

  test('are as many as there were, also under one name', () => {
    const twice = unfinished([a, a]);
    expect(findFiles(twice, [a])).toEqual({ files: [a], missing: ['a.txt'], changed: [] });
    expect(findFiles(twice, [a, chosen('a.txt', 'one')]).missing).toEqual([]);
  });
});

describe('what is kept of unfinished uploads', () => {
  test('is there for the next page until it is forgotten', async () => {
    const databases = new IDBFactory();
    const [one, other] = [unfinished([chosen('a.txt', 'one')], '1'), unfinished([chosen('b.txt', 'two')], '2')];
    for (const item of [one, other]) expect(await keepUnfinished(item, databases)).toBe(true);
    expect(await allUnfinished(databases)).toEqual([one, other]);
    await forgetUnfinished('1', databases);
    expect(await allUnfinished(databases)).toEqual([other]);
  });

  test('is nothing where the browser gives no storage, and nothing fails', async () => {
    const fails = () => {
      throw new DOMException('not here', 'SecurityError');
    };
    const databases = Object.assign(new IDBFactory(), { open: fails });
    expect(await keepUnfinished(unfinished([]), databases)).toBe(false);
    expect(await allUnfinished(databases)).toEqual([]);
    await forgetUnfinished('1', databases);
  });
});
