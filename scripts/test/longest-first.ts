import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Suites of more than a minute and a half: begun last, the other workers would wait for them. */
const LONG = [
  'test/histories/histories',
  'test/end-to-end/cli-get',
  'bench/test/bench',
  'test/end-to-end/reports',
  'test/web/continuing',
  'test/web/reports',
  'apps/conformance/test/server',
  'test/end-to-end/crashes-parts',
  'test/web/parts',
  'test/end-to-end/clock-ahead',
  'test/end-to-end/crashes',
  'test/end-to-end/unfair-clients',
  'test/web/file-requests',
];

/** Where nothing is known from a run before, as on a clean clone, vitest begins with the largest files. */
export default class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]) {
    const place = ({ moduleId }: TestSpecification) => {
      const found = LONG.findIndex((name) => moduleId.endsWith(`/${name}.test.ts`));
      return found < 0 ? LONG.length : found;
    };
    return (await super.sort(files)).sort((a, b) => place(a) - place(b));
  }
}
