import { parseId, type ReportKind } from '@mayfly/shared/fields';
import type { Notes } from '@mayfly/store/notes';
import type { Held, Stats, StoreStats } from '@mayfly/store/stats';
import type { cleanupDeps } from './cleanup-deps.ts';
import { block, type DeskDeps, dismiss, listReports, openReport, unblock } from './desk-commands.ts';
import { reconcile } from './reconcile.ts';
import { SweepFailed, sweep } from './sweep.ts';

export type CommandDeps = ReturnType<typeof cleanupDeps> &
  DeskDeps & { stats: StoreStats; allNotes: Pick<Notes, 'remove'> };
type CommandOptions = { id: string; reason: ReportKind; isDryRun: boolean; isForced: boolean };
/** Those that are about one item, or one report. */
export const OF_AN_ID = ['remove', 'block', 'unblock', 'dismiss', 'open'];

/** What a command did: facts for programs, a sentence or a table for people. */
type Outcome = { isOk: boolean; facts: object; sentence: string };
export type Command = (deps: CommandDeps, options: CommandOptions) => Promise<Outcome>;

export const commands: Record<string, Command> = {
  async stats({ stats }) {
    const facts = await stats.read();
    return { isOk: true, facts, sentence: tableOf(facts) };
  },

  async sweep(deps) {
    try {
      const facts = await sweep(deps);
      return { isOk: true, facts, sentence: listOf(facts) || 'Nothing was due.' };
    } catch (error) {
      if (!(error instanceof SweepFailed)) throw error;
      const problems = error.errors.map(({ message, cause }) => `${message}: ${(cause as Error)?.message ?? ''}`);
      return {
        isOk: false,
        facts: { ...error.result, problems },
        sentence: [listOf(error.result), ...problems].join('\n'),
      };
    }
  },

  async reconcile(deps, { isDryRun, isForced }) {
    const facts = await reconcile(deps, { isDryRun, isForced });
    const { blobs, uploads, orphans, lost, stillLost, found, partials, outcome, problem } = facts;
    const counts = [
      `${blobs} blobs, ${uploads} uploads`,
      `${orphans} blobs that belong to no upload`,
      `${lost} uploads whose blob is lost, besides ${stillLost} that were missed before`,
      `${found} uploads whose blob was lost and is there again`,
      `${partials} half-written leftovers`,
    ].join('\n');
    const remarks = {
      counted: 'Nothing was changed.',
      mended:
        orphans + lost + found + partials > 0
          ? 'Mended. What is to be deleted goes with the next sweep.'
          : 'All is as it should be.',
      refused: `Refused, nothing was changed. ${problem}`,
    };
    const sentence = blobs + uploads > 0 ? `${counts}\n${remarks[outcome]}` : remarks[outcome];
    return { isOk: outcome !== 'refused', facts, sentence };
  },

  async 'adopt-store'({ blobs }, { isForced }) {
    const facts = await blobs.adopt(isForced);
    const { sampled, found, isAdopted } = facts;
    const looked =
      sampled === 0 ? 'No upload had to be looked for.' : `Of ${sampled} uploads, ${found} have their blob there.`;
    const sentence = isAdopted
      ? 'This blob store is the database’s from now on.'
      : 'Refused, nothing was changed: is it the right blob store? If what is missing is lost for good: --force.';
    return { isOk: isAdopted, facts, sentence: `${looked}\n${sentence}` };
  },

  reports: listReports,
  open: openReport,
  dismiss,
  block,
  unblock,

  async remove({ uploads, allNotes, blobs }, { id: typed }) {
    const id = parseId(typed);
    if (!id) return { isOk: false, facts: { removed: null }, sentence: 'That is no id.' };
    if (await allNotes.remove(id)) return { isOk: true, facts: { removed: 'note' }, sentence: 'The note is removed.' };
    if (!(await uploads.remove(id))) {
      return { isOk: false, facts: { removed: null }, sentence: 'There is no upload and no note of that id.' };
    }
    const isGone = (await blobs.delete([id])).length === 0;
    if (isGone) await uploads.blobsDeleted([id]);
    const sentence = isGone ? 'The upload is removed.' : 'The upload is removed; its blob goes with the next sweep.';
    return { isOk: true, facts: { removed: 'upload', blobDeleted: isGone }, sentence };
  },
};

function listOf(facts: object): string {
  return Object.entries(facts)
    .filter(([, count]) => count > 0)
    .map(([name, count]) => `${wordsOf(name)}: ${count}`)
    .join('\n');
}

/** uploadsRetired: uploads retired. */
const wordsOf = (name: string) => name.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);

function tableOf({ uploads, notes, isEstimated, oldestDueSec, blobDeletions }: Stats): string {
  const row = (kind: string, { state, count, bytes }: Held) =>
    `${kind.padEnd(8)}${state.padEnd(15)}${String(count).padStart(12)}  ${sizeOf(bytes).padStart(10)}`;
  return [
    ...uploads.map((held) => row('upload', held)),
    ...notes.map((held) => row('note', held)),
    `${isEstimated ? '(estimated from a sample)\n' : ''}`,
    `waiting to be deleted: ${blobDeletions} blobs`,
    `overdue: uploads ${late(oldestDueSec.upload)}, notes ${late(oldestDueSec.note)}, blobs ${late(oldestDueSec.blob)}`,
  ].join('\n');
}

const late = (seconds: number) => (seconds > 0 ? `by ${Math.round(seconds)} s` : 'none');

function sizeOf(bytes: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  const power = Math.min(Math.floor(Math.log2(Math.max(bytes, 1)) / 10), units.length - 1);
  return `${power === 0 ? bytes : (bytes / 1024 ** power).toFixed(1)} ${units[power]}`;
}
