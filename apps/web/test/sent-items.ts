import type { SentItem } from '../src/my-uploads/sent-item.ts';

export const service = 'https://mayfly.example';

/** A valid item, number by number. */
export function sentUpload(number: number, changes: Partial<SentItem> = {}): SentItem {
  const id = `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`;
  return {
    kind: 'upload',
    id,
    service,
    link: `${service}/d/${id}#${'A'.repeat(43)}`,
    ownerSecret: 'B'.repeat(43),
    sentAt: new Date(Date.UTC(2026, 0, 1, 0, number)).toISOString(),
    expiresAt: '2026-02-01T00:00:00.000Z',
    maxUses: 3,
    hasPassword: false,
    files: [{ name: `file ${number}.txt`, size: number }],
    ...changes,
  };
}

export function sentNote(number: number): SentItem {
  const { files, ...upload } = sentUpload(number);
  return { ...upload, kind: 'note', link: upload.link.replace('/d/', '/n/'), contentType: 'markdown' };
}
