import { ownerEndpoints } from '@mayfly/shared/owner-endpoints';
import Type from 'typebox';
import type { App, FilesDeps } from '../deps.ts';
import { badOwnerToken, uploadGone, uploadNotFound } from '../errors.ts';

/** Contract: GET /api/own/upload/<id>, POST its /terms and /hooks, DELETE its /hooks. */
export function ownUploads(app: App, { owned, limits, desk }: FilesDeps) {
  const facts = {
    wholeCount: Type.Integer({ minimum: 0, description: 'downloads that arrived whole, as far as anybody could tell' }),
    metaSet: Type.Boolean({ description: 'whether its metadata was stored' }),
  };
  const words = { kind: 'upload', uses: 'downloads', usedCount: 'downloadCount', mostUses: 'maxDownloads' } as const;
  ownerEndpoints(app, limits, owned, {
    ...words,
    blocks: desk?.blocks,
    expireOptions: limits.EXPIRE_OPTIONS_SEC,
    useOptions: limits.DOWNLOAD_OPTIONS,
    facts,
    blockedFacts: ({ wholeCount }) => ({ wholeCount, metaSet: false }),
    factsOf: ({ wholeCount, hasMeta }) => ({ wholeCount, metaSet: hasMeta }),
    badOwnerToken,
    notFound: uploadNotFound,
    gone: uploadGone,
    allGone: uploadGone(),
  });
}
