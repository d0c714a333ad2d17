import { expect, test } from 'vitest';
import { withoutTwins } from '../src/send/chosen-files.ts';
import { preferred } from '../src/send/remembered-options.ts';

test('a choice of an earlier day stays within what the service offers now, and below the wish where it can', () => {
  expect(preferred([1, 5, 20], 5)).toBe(5);
  expect(preferred([20, 1, 5], 19)).toBe(5);
  expect(preferred([5, 20], 1)).toBe(5);
  expect(preferred([], 3)).toBe(3);
});

test('the same file is not chosen twice; one that has changed, or is elsewhere, is another one', () => {
  const file = (name: string, content = 'x', lastModified = 1) => ({
    name,
    file: new File([content], name, { lastModified }),
  });
  const more = [file('a'), file('b'), file('b'), file('a', 'xy'), file('a', 'x', 2), file('c/a')];
  const { fresh, twins } = withoutTwins([file('a')], more);
  expect(twins.map(({ name }) => name)).toEqual(['a', 'b']);
  expect(fresh).toEqual([more[1], more[3], more[4], more[5]]);
});
