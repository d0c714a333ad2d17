import { type RunningShape, type Shape, startShape } from '../infra/shapes.ts';

/** The service with its pages. The web app was built once, for all tests of the run. */
export function startWebService(shape: Shape, settings: Record<string, string> = {}): Promise<RunningShape> {
  const folder = process.env.TEST_WEB_DIR;
  if (!folder)
    throw new Error('TEST_WEB_DIR is not set: start the tests with npm test or vitest, which build the web app');
  return startShape(shape, { WEB_DIR: folder, ...settings });
}
