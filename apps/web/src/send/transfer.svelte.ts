import type { Created } from '@mayfly/client';
import type { Sent } from '../my-uploads/remember.ts';
import { routeOf } from '../route.ts';
import type { CallOptions } from '../worker/call.ts';
import type { TaskEvent } from '../worker/task.ts';
import { enterForm, enterLink, stepOf } from './history-steps.ts';

type Chosen = Omit<Sent, 'created' | 'expiresAt'> & { expireSec: number };

/** What the page is sending, and what came of it. */
export class Transfer {
  step = $state<'choose' | 'busy' | 'done'>('choose');
  event = $state.raw<TaskEvent>();
  trouble = $state.raw<Extract<TaskEvent, { kind: 'trouble' | 'retrying' }>>();
  failure = $state.raw<unknown>();
  sent = $state.raw<Sent>();
  /** What is on its way. */
  content = $state.raw<Sent['content']>();
  views = $state.raw<typeof import('./views.ts')>();
  /** What is on its way, where its link may be given away already. */
  announced = $state.raw<{ created: Created; hasPassword: boolean }>();
  /** A link may have been given away, and will never open anything. */
  isLinkLost = $state(false);
  /** What was sent last exists no more. */
  isDeleted = $state(false);
  #controller = new AbortController();
  #again = () => {};

  /** Has the worker send it, and keeps its link. False when it failed. */
  async run(
    begin: (options: CallOptions) => Promise<Created & { expiresAt?: string }>,
    chosen: Chosen,
  ): Promise<boolean> {
    const { expireSec, ...facts } = chosen;
    this.step = 'busy';
    this.content = facts.content;
    this.event = this.trouble = this.failure = this.announced = undefined;
    this.isLinkLost = this.isDeleted = false;
    this.#controller = new AbortController();
    // Loaded while the rest goes on: what is sent must not depend on the lists.
    const listing = import('../my-uploads/remember.ts').catch(() => undefined);
    const unfinished = import('../unfinished/unfinished-list.ts').catch(() => undefined);
    let release = () => {};
    const onEvent = (event: TaskEvent) => {
      this.trouble = event.kind === 'trouble' || event.kind === 'retrying' ? event : undefined;
      if (event.kind === 'progress') this.event = event;
      if (event.kind === 'announced') this.announced = { created: event.created, hasPassword: facts.hasPassword };
      if (event.kind === 'begun') void unfinished.then((list) => (release = list?.holdUnfinished(event.id) ?? release));
    };
    const onStart = (again: () => void) => {
      this.#again = again;
    };
    try {
      this.views = await import('./views.ts');
      const created = await begin({ signal: this.#controller.signal, onEvent, onStart });
      const { expiresAt = new Date(Date.now() + expireSec * 1000).toISOString() } = created;
      this.sent = { created, expiresAt, ...facts };
      await (await listing)?.remember(this.sent);
      this.step = 'done';
      if (routeOf(location.pathname) === 'send') enterLink();
      await (await unfinished)?.forgetUnfinished(created.id);
      return true;
    } catch (error) {
      if (this.announced) this.isLinkLost = !(await this.#mayContinue(await unfinished));
      this.failure = error;
      this.step = 'choose';
      return false;
    } finally {
      release();
    }
  }

  /** Whether a link that was given away can still come to something. */
  async #mayContinue(unfinished: typeof import('../unfinished/unfinished-list.ts') | undefined): Promise<boolean> {
    const kept = (await unfinished?.allUnfinished()) ?? [];
    return kept.some(({ upload }) => upload.id === this.announced?.created.id);
  }

  /** Shows the form again. Back leads to the link. */
  another() {
    this.step = 'choose';
    enterForm();
  }

  /** Shows what an entry of the history says: the form, or the link once more. */
  showStep(state: unknown) {
    const step = stepOf(state);
    if (step && this.step !== 'busy') this.step = step;
  }

  again() {
    this.#again();
  }

  stop() {
    this.#controller.abort();
  }
}

/** A page sends one thing at a time. */
export const transfer = new Transfer();
