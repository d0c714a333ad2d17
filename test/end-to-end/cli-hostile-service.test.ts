import { CONFIG, NOTE_INFO, UPLOAD_INFO } from '@mayfly/testing/good-answers';
import { type HostileService, openHostileService } from '@mayfly/testing/hostile-service';
import { inSuite } from '@mayfly/testing/in-suite';
import { freshFolder } from '@mayfly/testing/stores';
import { describe, expect, test } from 'vitest';
import { runCli } from '../support/mayfly-cli.ts';

const MIB = 1024 * 1024;
const ID = '0f8fad5b-d9cb-469f-a165-70867728950e';
const TIME = '2030-01-01T00:00:00.000Z';
const DRIVES = '\u001b[2J\u009b31mowned';
const OWN = { state: 'available', createdAt: TIME, expiresAt: TIME, usedAt: [], downloadCount: 0, maxDownloads: 1 };

describe('the command line and a service that wants to harm it', () => {
  const service = inSuite(() => openHostileService());
  const folder = inSuite(() => freshFolder());

  const answer = (status: number, body: ReturnType<HostileService['answer']>) => {
    service().answer = () => ({ ...body, status });
  };
  const cli = (...args: string[]) =>
    runCli(args, {
      cwd: folder().path,
      env: {
        MAYFLY_SERVER: service().url,
        MAYFLY_OWNER_SECRET: 'A'.repeat(43),
        XDG_DATA_HOME: folder().path,
        // Enough for what it does, and far too little for what it would have to hold.
        NODE_OPTIONS: '--max-old-space-size=64',
      },
    });
  const upload = () => `${service().url}/d/${ID}#${'A'.repeat(43)}`;
  const note = () => `${service().url}/n/${ID}#${'A'.repeat(43)}`;

  const COMMANDS: [name: string, args: () => string[]][] = [
    ['info', () => ['info', upload()]],
    ['get', () => ['get', upload()]],
    ['get of a note', () => ['get', note()]],
    ['note', () => ['note', 'text']],
    ['status', () => ['status', upload()]],
  ];

  test.each(COMMANDS)('%s: an answer of 300 MiB is given up, good or not', async (_, args) => {
    for (const status of [200, 400, 500]) {
      service().sentBytes = 0;
      answer(status, { body: { bytes: 300 * MIB } });
      const { code, out, err, peakBytes } = await cli(...args());
      expect([out, err.trim().split('\n')]).toEqual(['', [expect.stringMatching(/^mayfly: /)]]);
      expect(code).toBe({ 200: 20, 400: 2, 500: 9 }[status]);
      expect(service().sentBytes).toBeLessThan(64 * MIB);
      expect(peakBytes).toBeLessThan(320 * MIB); // Node alone has some 100; all of the answer took 1300
    }
  });

  test.each([
    ['fileCount of an upload', () => ['info', upload()], { ...UPLOAD_INFO, fileCount: DRIVES }],
    ['maxDownloads of an upload', () => ['info', upload()], { ...UPLOAD_INFO, maxDownloads: DRIVES }],
    ['downloadCount below nothing', () => ['info', upload()], { ...UPLOAD_INFO, downloadCount: -5 }],
    ['expiresAt of an upload', () => ['info', upload(), '--json'], { ...UPLOAD_INFO, expiresAt: DRIVES }],
    ['maxViews of a note', () => ['info', note()], { ...NOTE_INFO, maxViews: DRIVES }],
    ['contentType of a note', () => ['info', note(), '--json'], { ...NOTE_INFO, contentType: DRIVES }],
    ['times of uses', () => ['status', upload()], { ...OWN, usedAt: [DRIVES] }],
    ['state', () => ['status', upload()], { ...OWN, state: DRIVES }],
    [
      'lives that may be chosen',
      () => ['note', 'text', '--expires', '5m'],
      { ...CONFIG, noteExpireOptionsSec: [DRIVES] },
    ],
    ['limits that may be chosen', () => ['note', 'text', '--views', '7'], { ...CONFIG, noteViewOptions: [DRIVES] }],
    ['largest note', () => ['note', 'text'], { ...CONFIG, noteMaxSize: DRIVES }],
  ] as [string, () => string[], object][])('%s that drives a terminal gets nowhere', async (_, args, body) => {
    answer(200, { body });
    const { code, out, err } = await cli(...args());
    expect([code, out]).toEqual([20, '']);
    expect(err).toMatch(
      /^(mayfly: |\{"error":\{"code":"bad-answer","message":")The service's answer is not one that Mayfly gives/,
    );
    expect(err).not.toContain('owned');
  });

  test('a refusal that drives a terminal is told in other words', async () => {
    for (const status of [302, 400, 404, 410, 429, 500]) {
      answer(status, {
        body: { error: DRIVES, details: { [DRIVES]: [DRIVES] } },
        headers: { location: '\u009b31mowned' },
      });
      const { err } = await cli('info', upload(), '--json');
      expect(JSON.parse(err).error.message).not.toContain('owned');
    }
  });
});
