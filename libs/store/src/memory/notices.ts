import { randomUUID } from 'node:crypto';
import type { Hooks } from '../hooks.ts';
import { MOST_ATTEMPTS, type Notice, type NoticeEvent, type Notices, RETRY_AFTER_SEC } from '../notices.ts';

/** What a map of items has for notices. */
type Row = { hooks?: Hooks | undefined };
type Held = {
  id: string;
  itemId: string;
  kind: 'push' | 'webhook';
  host: string;
  event: NoticeEvent;
  at: Date;
  attempts: number;
  dueAt: number;
};

/** Notices in a map, for unit tests. */
export function memoryOutbox(now: () => number) {
  const held = new Map<string, Held>();
  return {
    held,
    /** What counting a use does besides. */
    note(itemId: string, { hooks }: Row, event: NoticeEvent) {
      for (const kind of ['push', 'webhook'] as const) {
        const hook = hooks?.[kind];
        if (!hook || (event === 'whole' && kind === 'push')) continue;
        const id = randomUUID();
        const at = new Date(now() - (now() % 60_000));
        held.set(id, { id, itemId, kind, host: hook.host, event, at, attempts: 0, dueAt: now() });
      }
    },
    forget(itemId: string) {
      for (const { id, itemId: of } of held.values()) if (of === itemId) held.delete(id);
    },
  };
}

/** The same for the janitor. */
export function memoryNotices(
  { rows, outbox: { held } }: { rows: Map<string, Row>; outbox: ReturnType<typeof memoryOutbox> },
  now: () => number = Date.now,
): Notices {
  return {
    async take({ limit, perHost, busyHosts }) {
      const free = [...held.values()].filter(({ dueAt, host }) => dueAt <= now() && !busyHosts.includes(host));
      const due = [...Map.groupBy(free, ({ host }) => host).values()]
        .flatMap((all) => all.slice(0, perHost))
        .slice(0, limit);
      const taken: Notice[] = [];
      for (const notice of due) {
        const { id, kind, event, at, itemId } = notice;
        const hook = rows.get(itemId)?.hooks?.[kind];
        if (!hook || notice.attempts >= MOST_ATTEMPTS) held.delete(id);
        else taken.push({ id, kind, event, at, hook } as Notice);
        notice.dueAt = now() + (RETRY_AFTER_SEC[notice.attempts] ?? 0) * 1000;
        notice.attempts += 1;
      }
      return { taken, dropped: due.length - taken.length };
    },
    async settle(id) {
      held.delete(id);
    },
    async endHook({ id, kind, hook }) {
      const notice = held.get(id);
      const row = notice && rows.get(notice.itemId);
      if (!row?.hooks || JSON.stringify(row.hooks[kind]) !== JSON.stringify(hook)) return;
      const { [kind]: _, ...rest } = row.hooks;
      row.hooks = Object.keys(rest).length > 0 ? rest : undefined;
      for (const other of held.values()) {
        if (other.itemId === notice?.itemId && other.kind === kind) held.delete(other.id);
      }
    },
    waiting: async () => held.size,
  };
}
