import { setTimeout as sleep } from 'node:timers/promises';
import { answers, equal, refuses } from '../expect.ts';
import type { Answer } from '../http.ts';
import { NOTE_PASSWORD, PASSWORD, type ServerCase, type Site, serverCase, token } from '../site.ts';

const OVER = 'Upload expired or download limit reached';
/** More at once than there are uses, and few enough for somebody else's server. */
const MORE = 8;
/** After the time of an item has come. The server's clock decides, and it may be a moment behind. */
const LATER_MS = 1_500;

const atOnce = (times: number, run: () => Promise<Answer>) => Promise.all(Array.from({ length: times }, run));
const statuses = (all: Answer[]) => all.map(({ status }) => status).sort();
const expected = (used: number) => [...Array(used).fill(200), ...Array(MORE).fill(410)];
const check = (site: Site, kind: 'password' | 'note', id: string, authToken: string) =>
  site.send('POST', kind === 'note' ? `/api/note/${id}/password` : `/api/password/${id}`, { json: { authToken } });

/** Contract: section 2, states and counting. */
export const counting: ServerCase[] = [
  serverCase('2', 'of more downloads at once than there are, exactly that many succeed', async (site) => {
    const uses = site.fewest(site.limits.downloadOptions);
    const { id, authToken } = await site.upload({ 'X-Max-Downloads': String(uses) });
    const all = await atOnce(uses + MORE, () => site.download(id, authToken));
    equal('statuses', statuses(all), expected(uses));
  }),
  serverCase('2', 'a used-up upload is 410 everywhere, with its reason', async (site) => {
    const uses = site.fewest(site.limits.downloadOptions);
    const { id, authToken, ownerToken } = await site.upload({ ...PASSWORD, 'X-Max-Downloads': String(uses) });
    for (let i = 0; i < uses; i++) answers(await site.download(id, authToken), 200);
    refuses(await site.download(id, authToken), 410, OVER);
    refuses(await site.download(id, token()), 410, OVER);
    refuses(await site.send('GET', `/api/info/${id}`), 410, OVER);
    refuses(await check(site, 'password', id, authToken), 410, OVER);
    answers(await site.send('GET', `/api/exists/${id}`), 410, { exists: false, reason: 'limit_reached' });
    refuses(await site.setMeta(id, token()), 401, 'Invalid or missing owner token');
    refuses(await site.setMeta(id, ownerToken), 410, OVER);
    answers(await site.delete(`/api/upload/${id}`, ownerToken), 200, { ok: true });
  }),
  serverCase(
    '2',
    'of more views at once than there are, exactly that many succeed, and they count 1 to N',
    async (site) => {
      const uses = site.fewest(site.limits.noteViewOptions);
      const { id, authToken } = await site.note({ maxViews: uses });
      const all = await atOnce(uses + MORE, () => site.view(id, authToken));
      equal('statuses', statuses(all), expected(uses));
      const counts = all
        .filter(({ status }) => status === 200)
        .map(({ json }) => (json as Record<string, unknown>).viewCount);
      equal(
        'counts',
        counts.sort(),
        Array.from({ length: uses }, (_, i) => i + 1),
      );
    },
  ),
  serverCase('2', 'a used-up note is 410 everywhere', async (site) => {
    const uses = site.fewest(site.limits.noteViewOptions);
    const { id, authToken, ownerToken } = await site.note({ ...NOTE_PASSWORD, maxViews: uses });
    for (let i = 0; i < uses; i++) answers(await site.view(id, authToken), 200);
    refuses(await site.view(id, authToken), 410, 'View limit reached');
    refuses(await site.view(id, token()), 410, 'View limit reached');
    refuses(await site.send('GET', `/api/note/${id}`), 410, 'View limit reached');
    refuses(await check(site, 'note', id, authToken), 410, 'View limit reached');
    answers(await site.delete(`/api/note/${id}`, ownerToken), 200, { ok: true });
  }),
  serverCase('2', 'what only looks at an upload counts nothing, nor do refusals and HEAD', async (site) => {
    const { id, authToken } = await site.upload(PASSWORD);
    await site.send('GET', `/api/exists/${id}`);
    await check(site, 'password', id, authToken);
    await site.download(id, token());
    equal('status of HEAD', (await site.download(id, authToken, 'HEAD')).status, 405);
    const { json } = await site.send('GET', `/api/info/${id}`);
    equal('downloadCount', (json as Record<string, unknown>).downloadCount, 0);
  }),
  serverCase('2', 'what only looks at a note counts nothing, nor do refusals', async (site) => {
    const { id, authToken } = await site.note(NOTE_PASSWORD);
    await check(site, 'note', id, authToken);
    await site.view(id, token());
    const { json } = await site.send('GET', `/api/note/${id}`);
    equal('viewCount', (json as Record<string, unknown>).viewCount, 0);
  }),
  serverCase('2', 'an expired upload is 410 everywhere, with its reason', async (site) => {
    const seconds = site.shortest(site.limits.expireOptionsSec);
    const { id, authToken, ownerToken } = await site.upload({ ...PASSWORD, 'X-Expire-Sec': String(seconds) });
    await sleep(seconds * 1000 + LATER_MS);
    refuses(await site.download(id, authToken), 410, OVER);
    refuses(await site.send('GET', `/api/info/${id}`), 410, OVER);
    refuses(await check(site, 'password', id, authToken), 410, 'Upload expired');
    answers(await site.send('GET', `/api/exists/${id}`), 410, { exists: false, reason: 'expired' });
    refuses(await site.setMeta(id, ownerToken), 410, OVER);
    answers(await site.delete(`/api/upload/${id}`, ownerToken), 200, { ok: true });
  }),
  serverCase('2', 'an expired note is 410 everywhere', async (site) => {
    const seconds = site.shortest(site.limits.noteExpireOptionsSec);
    const { id, authToken, ownerToken } = await site.note({ ...NOTE_PASSWORD, expireSec: seconds });
    await sleep(seconds * 1000 + LATER_MS);
    refuses(await site.view(id, authToken), 410, 'Note has expired');
    refuses(await site.send('GET', `/api/note/${id}`), 410, 'Note has expired');
    refuses(await check(site, 'note', id, authToken), 410, 'Note has expired');
    answers(await site.delete(`/api/note/${id}`, ownerToken), 200, { ok: true });
  }),
];
