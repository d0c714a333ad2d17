import { resolve } from 'node:path';
import { type FileEntry, type MayflyClient, MayflyError } from '@mayfly/client';
import { formatShare, formatTimeLeft } from '../amounts.ts';
import type { Context } from '../context.ts';
import { showProgress } from '../progress.ts';
import { asDiskError, type Saved } from '../save.ts';
import { tellTrouble } from '../tell-trouble.ts';
import type { Terminal } from '../terminal.ts';
import { isEnded } from './begin.ts';
import type { PartialFolder, PartialRecord, Position } from './partial-folder.ts';
import { placeAll, type Wanted } from './place-all.ts';
import { type Leased, receiveAll, receiveSome } from './receive.ts';
import { writeFiles } from './write-files.ts';
import { doneBytes, findStart, nothingOf, sizeOf } from './written.ts';

/** What may be otherwise in a moment. After anything else there is nothing to go on with. */
const PASSING = ['aborted', 'network', 'unavailable', 'rate-limited', 'download-ended'];

/**
 * Receives into a partial folder, and gives files their names once all of them are verified. When it fails, says how to go on with what is
 * kept, or keeps nothing. Throws `download-ended` when the service does not go on with the download.
 */
export async function receiveKept(
  { terminal, signal }: Context,
  client: MayflyClient,
  leased: Leased,
  folder: PartialFolder,
  { indexes, paths, mayReplace }: Wanted,
): Promise<Saved[]> {
  const { files } = leased.metadata;
  const start = await chooseStart(terminal, folder, files, indexes);
  const { lease, downloadLeases } = leased.lease;
  let record: PartialRecord = {
    version: 1,
    id: leased.link.id,
    lease,
    idleSec: downloadLeases.idleSec,
    indexes,
    position: start,
  };
  const save = async (position: Position) => {
    await folder.save({ ...record, position });
    record = { ...record, position };
  };
  using progress = showProgress(terminal.stderr, 'Receiving');
  const how = { signal, ...tellTrouble(terminal, progress) };
  try {
    // Before anything counts.
    await save(record.position).catch((error) => {
      throw asDiskError(error);
    });
    const isAll = indexes.length === files.length;
    const arriving = isAll
      ? receiveAll(client, leased, folder, start, how)
      : receiveSome(client, leased, folder, indexes, start, how);
    await writeFiles(arriving, folder, start, save);
    await folder.save({ ...record, paths: paths.map((path) => resolve(path)) });
  } catch (error) {
    progress.wipe();
    const mayPass = error instanceof MayflyError ? PASSING.includes(error.code) : true;
    if (!mayPass) await folder.remove();
    else if (!isEnded(error)) {
      const share = formatShare(doneBytes(files, indexes, record.position), sizeOf(files, indexes));
      const left = formatTimeLeft(record.idleSec * 1000);
      terminal.say(`It stopped at ${share}. To go on, run the same command again within ${left}.`);
    }
    throw error;
  }
  progress.wipe();
  const [saved] = await Promise.all([
    placeAll(folder, { indexes, paths, mayReplace }),
    endLease(client, leased, { signal, isWhole: indexes.length === files.length }),
  ]);
  await folder.remove();
  return saved;
}

/** Where to go on, which is told; the beginning where nothing fits. */
async function chooseStart(terminal: Terminal, folder: PartialFolder, files: FileEntry[], indexes: number[]) {
  const kept = await folder.read();
  const isSame = kept?.record.indexes.join() === indexes.join();
  const start = kept && isSame ? await findStart(folder, kept, files) : nothingOf(indexes[0] ?? 0);
  if (!kept) return start;
  const share = formatShare(doneBytes(files, indexes, start), sizeOf(files, indexes));
  const before = isSame ? doneBytes(files, indexes, kept.record.position) : 0;
  const isLess = doneBytes(files, indexes, start) < before;
  terminal.say(`Continuing at ${share}${isLess ? ': what was kept of it has changed' : ''}.`);
  return start;
}

const END_MS = 5_000;

/** Best effort: it ends by itself. */
async function endLease(
  client: MayflyClient,
  { link, lease }: Leased,
  { signal, isWhole }: { signal: AbortSignal; isWhole: boolean },
) {
  const either = AbortSignal.any([signal, AbortSignal.timeout(END_MS)]);
  await client.endLease(link, lease.lease, { signal: either, isWhole }).catch(() => {});
}
