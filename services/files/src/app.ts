import { type App, createApp } from '@mayfly/shared/app';
import { describedEndpoints } from '@mayfly/shared/describe-api';
import { openFunnel } from '@mayfly/shared/telemetry/funnel';
import type { FilesDeps } from './deps.ts';
import { deleteUpload } from './endpoints/delete-upload.ts';
import { download } from './endpoints/download.ts';
import { exists } from './endpoints/exists.ts';
import { info } from './endpoints/info.ts';
import { meta } from './endpoints/meta.ts';
import { password } from './endpoints/password.ts';
import { ready } from './endpoints/ready.ts';
import { upload } from './endpoints/upload.ts';

/** The files service: the contract's upload endpoints, one file each. */
export function buildFiles(given: Omit<FilesDeps, 'funnel'>): App {
  const deps = { ...given, funnel: openFunnel('upload') };
  const app = createApp({ ...deps, service: 'files' });
  describedEndpoints(app, (scope) => {
    for (const endpoint of [upload, meta, info, exists, password, download, deleteUpload, ready]) endpoint(scope, deps);
  });
  return app;
}
