import { type App, createApp } from '@mayfly/shared/app';
import { describedEndpoints } from '@mayfly/shared/describe-api';
import { noticeKinds } from '@mayfly/shared/owner-notices';
import { partLimits } from '@mayfly/shared/part-limits';
import { openFunnel } from '@mayfly/shared/telemetry/funnel';
import type { FilesDeps } from './deps.ts';
import { deleteUpload } from './endpoints/delete-upload.ts';
import { download } from './endpoints/download.ts';
import { exists } from './endpoints/exists.ts';
import { info } from './endpoints/info.ts';
import { endLease } from './endpoints/leases/end.ts';
import { leaseInfo } from './endpoints/leases/info.ts';
import { readUnderLease } from './endpoints/leases/read.ts';
import { meta } from './endpoints/meta.ts';
import { ownUploads } from './endpoints/owner.ts';
import { arrival } from './endpoints/parts/arrival.ts';
import { beginParts } from './endpoints/parts/begin.ts';
import { cancelParts } from './endpoints/parts/cancel.ts';
import { completeParts } from './endpoints/parts/complete.ts';
import { putPart } from './endpoints/parts/put.ts';
import { partsState } from './endpoints/parts/state.ts';
import { password } from './endpoints/password.ts';
import { ready } from './endpoints/ready.ts';
import { notice } from './endpoints/reports/notice.ts';
import { report } from './endpoints/reports/report.ts';
import { createRequest } from './endpoints/requests/create.ts';
import { deleteRequest } from './endpoints/requests/delete.ts';
import { drop } from './endpoints/requests/drop.ts';
import { drops } from './endpoints/requests/drops.ts';
import { endRequestHooks, requestHooks } from './endpoints/requests/hooks.ts';
import { requestInfo } from './endpoints/requests/info.ts';
import { slot } from './endpoints/requests/slot.ts';
import { unlock } from './endpoints/unlock.ts';
import { upload } from './endpoints/upload.ts';

/** The files service: the contract's upload endpoints, one file each. */
export function buildFiles(given: Omit<FilesDeps, 'funnel' | 'requestFunnel'>): App {
  const deps = { ...given, funnel: openFunnel('upload'), requestFunnel: openFunnel('request') };
  const app = createApp({ ...deps, service: 'files' });
  describedEndpoints(app, (scope) => {
    for (const endpoint of [upload, meta, info, exists, password, unlock, download, deleteUpload, ready])
      endpoint(scope, deps);
    if (deps.limits.DOWNLOAD_LEASE_SEC > 0) {
      for (const endpoint of [readUnderLease, leaseInfo, endLease]) endpoint(scope, deps);
    }
    ownUploads(scope, deps);
    if (deps.limits.REQUESTS === 'yes') {
      for (const endpoint of [createRequest, requestInfo, drop, drops, deleteRequest]) endpoint(scope, deps);
      if (deps.limits.CREATE_GUARD !== 'open') slot(scope, deps);
      if (noticeKinds(deps.limits)) for (const endpoint of [requestHooks, endRequestHooks]) endpoint(scope, deps);
    }
    if (deps.desk) {
      report(scope, deps.desk, deps.limits);
      notice(scope, deps.desk);
    }
    const parts = partLimits(deps.limits);
    if (parts) {
      for (const endpoint of [beginParts, putPart, partsState, completeParts, cancelParts, arrival])
        endpoint(scope, deps, parts);
    }
  });
  return app;
}
