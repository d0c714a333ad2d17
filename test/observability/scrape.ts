import { MayflyClient } from '@mayfly/client';
import { newWebhook, nodeTransport } from '@mayfly/client/node';
import type { RunningShape } from '@mayfly/testing/shapes';

export type Sample = { name: string; labels: Record<string, string>; value: number };

/** Everything that all processes of a running shape expose. */
export async function scrape(running: RunningShape): Promise<Sample[]> {
  const texts = await Promise.all(
    running.processes.map(async ({ adminUrl }) => (await fetch(`${adminUrl}/metrics`)).text()),
  );
  return texts.flatMap(parse);
}

function parse(text: string): Sample[] {
  return text
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => {
      const [, name = '', labels = '', value = ''] = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)/.exec(line) ?? [];
      const pairs = [...labels.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([, key = '', text = '']) => [key, text]);
      return { name, labels: Object.fromEntries(pairs), value: Number(value) };
    });
}

/** Names as a person writes them: a histogram's three series are one. */
export function metricNames(samples: Sample[]): string[] {
  const histograms = new Set(samples.flatMap(({ name }) => (name.endsWith('_bucket') ? [name.slice(0, -7)] : [])));
  const names = samples.map(({ name }) => {
    const base = name.replace(/_(bucket|count|sum)$/, '');
    return histograms.has(base) ? base : name;
  });
  return [...new Set(names)].sort();
}

/** Owners may have a host called that is nowhere. */
export const NOTICE_SETTINGS = { WEBHOOK_HOSTS: 'canary-host.invalid' };

/** Uses everything once, with values that must be seen nowhere but in the requests. Returns those values. */
export async function useEverything(running: RunningShape, address: string): Promise<string[]> {
  const transport = nodeTransport();
  const sent: string[] = [];
  const through = {
    send: (request: Parameters<typeof transport.send>[0]) => {
      const headers = { ...request.headers, 'x-forwarded-for': address };
      for (const [name, value] of Object.entries(headers)) if (/token|salt|lease/i.test(name)) sent.push(value);
      if (typeof request.body === 'string') {
        const fields: Record<string, unknown> = JSON.parse(request.body);
        for (const name of ['authToken', 'ownerToken', 'salt', 'encryptedContent', 'encryptedMeta', 'nonce']) {
          if (typeof fields[name] === 'string') sent.push(fields[name].slice(0, 40));
        }
      }
      return transport.send({ ...request, headers });
    },
  };
  const client = new MayflyClient({ baseUrl: running.baseUrl, transport: through });
  const [fileName, text] = ['canary-file-name.txt', 'canary plaintext of a file '];
  const bytes = new TextEncoder().encode(text.repeat(41_234));
  const file = { name: fileName, size: bytes.length, stream: () => new Blob([bytes]).stream() };
  const upload = await client.uploadFiles([file], { expireSec: 3600, maxDownloads: 2 });
  const { payload } = await client.download(upload.link);
  for await (const _ of payload); // to its end
  const { uploadParts, downloadLeases } = await client.getConfig();
  const inParts = await client.uploadFiles([file], { expireSec: 3600, maxDownloads: 1, uploadParts, inParts: true });
  const received = await client.download(inParts.link, { downloadLeases });
  for await (const _ of received.payload); // to its end
  const gone = await client.uploadFiles([file], { expireSec: 1, maxDownloads: 1 });
  const note = await client.createNote('canary plaintext of a note', {
    expireSec: 3600,
    maxViews: 1,
    password: 'canary word',
  });
  const hook = newWebhook(`https://${NOTICE_SETTINGS.WEBHOOK_HOSTS}/canary-path`);
  await client.setHooks(note, { ownerSecret: note.ownerSecret }, { webhook: hook });
  await client.viewNote(note.link, { password: 'guess' }).catch(() => {});
  await client.viewNote(note.link, { password: 'canary word' });
  await fetch(`${running.baseUrl}/api/info/${upload.id}?canary-query=1`);
  await fetch(`${running.baseUrl}/d/${upload.id}?canary-query=2`);
  await client.remove(upload, upload.ownerSecret);
  return [
    ...sent,
    ...[hook.secret, hook.secret.slice(6), hook.key, 'canary-host', 'canary-path'],
    ...[upload, inParts, gone, note].flatMap(({ id, link, ownerSecret }) => [
      id,
      ownerSecret,
      link.split('#')[1] ?? '',
    ]),
    ...[fileName, text.trim(), 'canary plaintext of a note', 'canary word', 'canary-query', address],
    String(bytes.length),
  ];
}
