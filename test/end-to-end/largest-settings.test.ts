import { randomBytes } from 'node:crypto';
import { startProcess } from '@mayfly/testing/shapes';
import { untilTrue } from '@mayfly/testing/wire';
import { expect, test } from 'vitest';
import { noteBody } from '../support/api.ts';
import { describeEachShape } from '../support/each-shape.ts';

const LARGEST = 2 ** 31 - 1;
const MIB = 1024 * 1024;
const LIMITS = { EXPIRE_OPTIONS_SEC: LARGEST, DOWNLOAD_OPTIONS: LARGEST, MAX_FILES_PER_UPLOAD: LARGEST };
const NOTE_LIMITS = { NOTE_EXPIRE_OPTIONS_SEC: LARGEST, NOTE_VIEW_OPTIONS: LARGEST };
const TIMES = {
  CLEANUP_INTERVAL_SEC: LARGEST,
  RECONCILE_INTERVAL_SEC: LARGEST,
  RECONCILE_GRACE_SEC: LARGEST,
  TOMBSTONE_TTL_SEC: LARGEST,
  RATE_LIMIT_WINDOW_SEC: LARGEST,
  TOKEN_FAILURES_WINDOW_SEC: LARGEST,
  REDIS_TIMEOUT_MS: LARGEST,
};
const COUNTS = { RATE_LIMIT_MAX: LARGEST, TOKEN_FAILURES_MAX: LARGEST, DATABASE_POOL_SIZE: LARGEST };
const ALL = { ...LIMITS, ...NOTE_LIMITS, ...TIMES, ...COUNTS };

const texts = (settings: Record<string, number>, plus = 0) =>
  Object.fromEntries(Object.entries(settings).map(([name, value]) => [name, String(value + plus)]));

describeEachShape('the largest settings that a start accepts', { ...texts(ALL), NOTE_MAX_SIZE: '16MiB' }, (service) => {
  test('an upload that lives for 68 years', async () => {
    const headers = {
      'X-Expire-Sec': String(LARGEST),
      'X-Max-Downloads': String(LARGEST),
      'X-File-Count': String(LARGEST),
    };
    const upload = await service.api.newUpload(headers);
    expect((await service.api.download(upload.id, upload.authToken)).body.bytes).toEqual(upload.payload);
    const { createdAt, expiresAt, maxDownloads } = (await service.api.info(upload.id)).body;
    expect(maxDownloads).toBe(LARGEST);
    expect(Date.parse(String(expiresAt)) - Date.parse(String(createdAt))).toBe(LARGEST * 1000);
  });

  test.each([4 * MIB, 8 * MIB, 16 * MIB + 256])('a note of %i bytes', async (size) => {
    const encryptedContent = randomBytes(size).toString('base64');
    const note = await service.api.newNote({ encryptedContent, expireSec: LARGEST, maxViews: LARGEST });
    const view = await service.api.view(note.id, note.authToken);
    expect([view.status, view.body.encryptedContent === encryptedContent]).toEqual([200, true]);
  });

  test('a larger note, and one that is not base64', async () => {
    const fields = { expireSec: LARGEST, maxViews: LARGEST };
    const large = await service.api.createNote(noteBody({ ...fields, encryptedContent: 'A'.repeat(24 * MIB) }));
    expect([large.status, large.body]).toEqual([413, { error: 'Note content exceeds maximum size' }]);
    const broken = await service.api.createNote(noteBody({ ...fields, encryptedContent: `${'A'.repeat(8 * MIB)}!` }));
    expect([broken.status, broken.body]).toEqual([
      400,
      {
        error: 'Invalid request',
        details: { encryptedContent: ['must be non-empty base64, the AES-256-GCM ciphertext'] },
      },
    ]);
  });

  test('no timer is longer than a timer can be', () => {
    for (const { output } of service.running.processes) expect(output()).not.toContain('TimeoutOverflowWarning');
  });
});

test('what is larger stops the start with one message that names every setting', async () => {
  const settings = { ...texts(ALL, 1), NOTE_MAX_SIZE: '17MiB', DATABASE_URL: 'postgres://x', REDIS_URL: 'redis://x' };
  const service = await startProcess('all', settings);
  await untilTrue(() => service.child.exitCode !== null);
  for (const name of [...Object.keys(ALL), 'NOTE_MAX_SIZE']) expect(service.output()).toContain(name);
  expect([service.child.exitCode, service.output().trim().split('\n').length]).toEqual([1, 1]);
});
