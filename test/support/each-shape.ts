import { inSuite } from '@mayfly/testing/in-suite';
import { type RunningShape, SHAPES, type Shape, startShape } from '@mayfly/testing/shapes';
import { describe, expect, test } from 'vitest';
import { Api } from './api.ts';
import { undocumented } from './documented.ts';

export type ShapeUnderTest = {
  readonly shape: Shape;
  readonly running: RunningShape;
  /** A client of the first public address. */
  readonly api: Api;
  /** One client for each public address: with `split`, replicas that share nothing but the stores. */
  readonly replicas: Api[];
};

/** Runs the tests of a suite on every shape, each with stores of its own. */
export function describeEachShape(
  name: string,
  settings: Record<string, string>,
  tests: (service: ShapeUnderTest) => void,
) {
  describe.each(SHAPES)(`${name} (%s)`, (shape) => {
    const started = inSuite(() => startShape(shape, settings));
    const service: ShapeUnderTest = {
      shape,
      get running() {
        return started();
      },
      get api() {
        return new Api(started().baseUrl);
      },
      get replicas() {
        return started().baseUrls.map((url) => new Api(url));
      },
    };
    tests(service);
    test('every answer that this suite got is described in the API reference', async () => {
      const { checked, problems } = await undocumented(service.running.baseUrls);
      expect(problems).toEqual([]);
      expect(checked).toBeGreaterThan(0);
    });
  });
}
