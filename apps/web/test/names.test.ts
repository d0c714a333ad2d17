import { expect, test } from 'vitest';
import { archiveName } from '../src/receive/archive-name.ts';
import { routeOf } from '../src/route.ts';
import { safeName } from '../src/saving/place.ts';

test.each([
  ['report.pdf', 'report.pdf'],
  ['../../etc/passwd', 'passwd'],
  ['C:\\Windows\\system.ini', 'system.ini'],
  ['..', 'file'],
  ['', 'file'],
  ['.hidden', 'hidden'],
  ['a\u0000b<c>:"d|e?f*.txt', 'a_b_c___d_e_f_.txt'],
  ['exe.\u202egpj', 'exe._gpj'],
  ['größe 🪰.txt', 'größe 🪰.txt'],
])('the name %j is saved as %j', (name, safe) => {
  expect(safeName(name)).toBe(safe);
});

test.each([
  [['trip/a', 'trip/b/c'], 'trip.zip'],
  [['trip/a', 'other/b'], 'mayfly-2026-11-21.zip'],
  [['a', 'b'], 'mayfly-2026-11-21.zip'],
  [['trip/a', 'b'], 'mayfly-2026-11-21.zip'],
])('an archive of %j is %s', (names, expected) => {
  const files = names.map((name) => ({ name }));
  expect(archiveName(files, new Date('2026-11-21T12:00:00Z'))).toBe(expected);
});

test.each([
  ['/', 'send'],
  ['/d/x', 'file'],
  ['/n/x', 'note'],
  ['/uploads', 'uploads'],
  ['/uploads/', 'uploads'],
])('%s shows %s', (path, route) => {
  expect(routeOf(path)).toBe(route);
});
