import { sealFile } from '@mayfly/client';
import { expect, test } from 'vitest';
import { exportItems, importItems } from '../src/my-uploads/list-file.ts';
import { sentNote, sentUpload } from './sent-items.ts';

const cost = { argon2id: { memoryKiB: 64, passes: 1 }, pbkdf2: { iterations: 1 } };
const passphrase = 'four random words do';

test('an exported list is imported as it was, and its file shows nothing of it', async () => {
  const items = [sentUpload(1), sentNote(2)];
  const file = await exportItems(items, passphrase, cost);
  expect(file).not.toMatch(/upload|note|mayfly\.example|file 1/);
  expect(await importItems(file, passphrase, cost)).toEqual({ items, unreadable: 0 });
});

test('a wrong passphrase opens nothing', async () => {
  const file = await exportItems([sentUpload(1)], passphrase, cost);
  await expect(importItems(file, 'another', cost)).rejects.toMatchObject({ code: 'wrong-password' });
});

test('items that cannot be understood are counted and left out', async () => {
  const item = sentUpload(1);
  const broken = [
    null,
    'text',
    { ...item, kind: 'note' },
    { ...item, id: '../../etc' },
    { ...item, link: `javascript:alert(1)//d/${item.id}#${'A'.repeat(43)}` },
    { ...item, ownerSecret: 'short' },
    { ...item, service: 'javascript:alert(1)' },
    { ...item, expiresAt: 'soon' },
    { ...item, maxUses: -1 },
    { ...item, hasPassword: 'no' },
    { ...item, files: [] },
    { ...item, files: [{ name: 5, size: 1 }] },
    { ...sentNote(2), contentType: 'html' },
  ];
  const file = await seal(JSON.stringify({ items: [...broken, { ...item, later: 'field' }] }));
  expect(await importItems(file, passphrase, cost)).toEqual({ items: [item], unreadable: broken.length });
});

test.each(['null', '5', '{"items":{}}', 'no json'])('a file whose content is %s is refused', async (text) => {
  await expect(importItems(await seal(text), passphrase, cost)).rejects.toMatchObject({ code: 'bad-source' });
});

function seal(text: string) {
  return sealFile(text, { content: 'mayfly sent list', passphrase, unsafePasswordCost: cost });
}
