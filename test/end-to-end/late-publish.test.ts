import { randomBytes } from 'node:crypto';
import { openFaultProxy } from '@mayfly/testing/fault-proxy';
import { inSuite } from '@mayfly/testing/in-suite';
import { SHAPES, startShape } from '@mayfly/testing/shapes';
import { freshDatabase } from '@mayfly/testing/stores';
import { type Moment, openTriggeringProxy } from '@mayfly/testing/triggering-proxy';
import { untilTrue } from '@mayfly/testing/wire';
import { describe, expect, test } from 'vitest';
import { Api, call } from '../support/api.ts';

// PostgreSQL goes away for a moment when the last byte of an upload has just been stored.

/** A part of the statement that makes an upload available. */
const PUBLISH = 'expires_at - created_at';
const AWAY_MS = 2_000;

describe.each(SHAPES)('PostgreSQL is away at the last byte (%s)', (shape) => {
  const database = inSuite(() => freshDatabase({ hasTables: true }));
  const watched = inSuite(() => openTriggeringProxy(database().url));
  const proxy = inSuite(() => openFaultProxy(watched().url));
  const running = inSuite(() => startShape(shape, { DATABASE_URL: proxy().url }));

  const isWell = async () => (await call('GET', `${running().baseUrl}/api/health`)).status === 200;
  const goAway = () => {
    proxy().cut();
    setTimeout(() => proxy().mend(), AWAY_MS);
  };

  test.each([
    ['before it is available', 'before'],
    ['when it is available and nobody has been told', 'after'],
  ] as const)('%s: the upload succeeds a moment later and can be downloaded', async (_, moment: Moment) => {
    watched().drop(); // a statement's text passes once per connection
    await untilTrue(isWell);
    const api = new Api(running().baseUrl);
    const payload = randomBytes(1_000_000);
    const away = watched().when(PUBLISH, moment, goAway);
    const began = performance.now();
    const [upload] = await Promise.all([api.newUpload({}, payload), away]);
    expect(performance.now() - began).toBeGreaterThan(AWAY_MS);
    await untilTrue(isWell);
    expect((await api.info(upload.id)).body).toMatchObject({ downloadCount: 0 });
    const downloaded = await api.download(upload.id, upload.authToken);
    expect([downloaded.status, payload.equals(downloaded.body.bytes as Buffer)]).toEqual([200, true]);
  });
});
