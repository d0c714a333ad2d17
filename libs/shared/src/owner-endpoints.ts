import type { IncomingHttpHeaders } from 'node:http';
import Type, { type TObject, type TProperties } from 'typebox';
import { errorAnswers } from './answers.ts';
import type { App } from './app.ts';
import { type Block, type Blocks, findBlocked, stateFields, timesOf } from './blocked-items.ts';
import type { Config } from './config.ts';
import { HttpError, invalidRequest } from './errors.ts';
import { OneOf, parseId, Timestamp, TOKEN_BODY_BYTES, Token } from './fields.ts';
import { HooksBody, hooksIn, type NoticeLimits, noticeKinds } from './owner-notices.ts';
import type { ownerSettings } from './settings.ts';
import { tokenMatches } from './tokens.ts';

// What owners see and change of what they own, whatever it is. Contract 12 and 14.

type Gone = 'expired' | 'limit_reached';

/** An item as the tables know it; more of it is known to who describes it. */
type Item = {
  status: 'available' | Gone;
  ownerHash: Buffer;
  createdAt: Date;
  expiresAt: Date;
  usedCount: number;
  mostUses: number;
  usedAt: Date[];
  hookCount: number;
};

/** What the store has of these endpoints (`OwnedItems`). */
type Items<I extends Item> = {
  find(id: string): Promise<I | undefined>;
  setTerms(
    id: string,
    terms: { expireSec: number | undefined; mostUses: number | undefined },
    longestSec: number,
  ): Promise<'changed' | 'gone' | 'used'>;
  setHooks(id: string, hooks: ReturnType<typeof hooksIn>): Promise<boolean>;
  endHooks(id: string): Promise<void>;
};

/** Where uploads and notes differ. */
type OwnedKind<I extends Item> = {
  kind: 'upload' | 'note';
  uses: 'downloads' | 'views';
  /** The fields that have the counts. */
  usedCount: string;
  mostUses: string;
  /** What its owner knows besides. */
  facts?: TProperties;
  factsOf?: (item: I) => Record<string, unknown>;
  blockedFacts?: (block: Block) => Record<string, unknown>;
  /** Where there may be any. */
  blocks?: Blocks;
  expireOptions: number[];
  useOptions: number[];
  badOwnerToken: () => HttpError;
  notFound: () => HttpError;
  gone: (reason: Gone) => HttpError;
  /** The same for the reference, each once. */
  allGone: HttpError | HttpError[];
};

/** The longest life in all, in seconds, of what may choose from these options. */
export function longestLife({ MAX_LIFETIME_SEC: longest }: Config<typeof ownerSettings>, options: number[]): number {
  return longest ?? Math.max(...options);
}

const params = Type.Object({ id: Type.String() });
const config = { docs: { headers: Type.Object({ 'X-Owner-Token': Token('the owner token') }) } };
const belowWhatWasUsed = () => new HttpError(409, 'Below what was used');

/** Contract: GET /api/own/<kind>/<id>, its /terms and its /hooks. An owner sees the item also when it is over. */
export function ownerEndpoints<I extends Item>(app: App, limits: NoticeLimits, owned: Items<I>, of: OwnedKind<I>) {
  const { kind, uses, mostUses, useOptions: options, expireOptions, badOwnerToken, notFound, gone } = of;
  const url = `/api/own/${kind}/:id`;
  const name = kind.replace(/^./, (letter) => letter.toUpperCase());
  const hasNotices = noticeKinds(limits) !== undefined;
  const longestSec = longestLife(limits, expireOptions);
  const answer: TObject = Type.Object({
    ...stateFields(of.blocks),
    createdAt: Timestamp,
    expiresAt: Timestamp,
    usedAt: Type.Array(Timestamp, { description: 'when it was used, to the minute; what is not known is missing' }),
    hooks: Type.Optional(Type.Integer({ minimum: 0, description: 'who is told of uses; absent where nobody can be' })),
    [of.usedCount]: Type.Integer({ minimum: 0 }),
    [mostUses]: Type.Integer({ minimum: 0 }),
    ...of.facts,
  });
  const forOwner = { 401: badOwnerToken(), 404: notFound() };
  const forChange = { ...forOwner, 410: of.allGone, 413: new HttpError(413) };
  const schemaOf = (operationId: string, summary: string) => ({ operationId, tags: [`${kind}s`], summary, params });

  type Asked = { params: { id: string }; headers: IncomingHttpHeaders };
  /** The item in whatever state: 404, 401. */
  async function find({ params, headers }: Asked): Promise<I & { id: string }> {
    const id = parseId(params.id);
    const item = id && (await owned.find(id));
    if (!item) throw notFound();
    if (!tokenMatches(headers['x-owner-token'], item.ownerHash)) throw badOwnerToken();
    return { ...item, id };
  }
  async function findAvailable(request: Asked) {
    const item = await find(request);
    if (item.status !== 'available') throw gone(item.status);
    return item;
  }
  /** It ended between the look and the change: 404 when it was deleted. */
  async function whyGone(request: Asked): Promise<never> {
    const { status } = await find(request);
    throw gone(status === 'available' ? 'limit_reached' : status);
  }
  /** What is told of an item of which nothing else is left; undefined unless it was blocked. */
  async function describeBlocked({ params, headers }: Asked) {
    const asked = { kind, idText: params.id, ownerToken: headers['x-owner-token'] };
    const block = await findBlocked(of.blocks, asked, badOwnerToken);
    if (!block) return undefined;
    const { usedCount, mostUses: most } = block;
    const uses = { usedAt: [], [of.usedCount]: usedCount, [mostUses]: most, ...(hasNotices ? { hooks: 0 } : {}) };
    return { state: 'blocked', kind: block.kind, ...timesOf(block), ...uses, ...of.blockedFacts?.(block) };
  }
  async function describe(request: Asked) {
    const item = await find(request);
    return {
      state: item.status,
      ...timesOf(item),
      usedAt: item.usedAt.map((at) => at.toISOString()),
      ...(hasNotices ? { hooks: item.hookCount } : {}),
      [of.usedCount]: item.usedCount,
      [mostUses]: item.mostUses,
      ...of.factsOf?.(item),
    };
  }

  const status = {
    ...schemaOf(`own${name}Status`, `What became of the ${kind}, for its owner`),
    response: { 200: answer, ...errorAnswers(forOwner) },
  };
  const terms = {
    ...schemaOf(`set${name}Terms`, `Give the ${kind} another end, or another number of ${uses}`),
    body: Type.Object({
      expireSec: Type.Optional(
        OneOf([0, ...expireOptions], 'seconds from now, as far as it may live at all; 0 ends it at once'),
      ),
      [mostUses]: Type.Optional(Type.Integer({ minimum: 0, description: 'one of the options, or what was used' })),
    }) as TObject,
    response: {
      200: answer,
      ...errorAnswers({
        400: invalidRequest({ [mostUses]: ['or expireSec is required'] }),
        409: belowWhatWasUsed(),
        ...forChange,
      }),
    },
  };
  const hooks = {
    ...schemaOf(`set${name}Hooks`, `Have somebody told when the ${kind} is used`),
    body: HooksBody,
    response: {
      200: answer,
      ...errorAnswers({ 400: invalidRequest({ webhook: ['or push is required'] }), ...forChange }),
    },
  };
  const noHooks = {
    ...schemaOf(`end${name}Hooks`, 'Have nobody told any more'),
    response: { 200: answer, ...errorAnswers(forOwner) },
  };

  if (limits.OWNER_CONTROL === 'yes') {
    app.get(url, { schema: status, config }, async (request) => (await describeBlocked(request)) ?? describe(request));
    // All or nothing, in one step with the uses that are counted meanwhile.
    app.post(`${url}/terms`, { schema: terms, config, bodyLimit: TOKEN_BODY_BYTES }, async (request) => {
      const { expireSec, [mostUses]: most } = request.body as Record<string, number | undefined>;
      const { id, usedCount } = await findAvailable(request);
      if (expireSec === undefined && most === undefined) {
        throw invalidRequest({ [mostUses]: ['or expireSec is required'] });
      }
      if (most !== undefined && most !== usedCount && !options.includes(most)) {
        if (most < usedCount) throw belowWhatWasUsed();
        throw invalidRequest({ [mostUses]: [`must be one of ${options.join(', ')}, or what was used`] });
      }
      const verdict = await owned.setTerms(id, { expireSec, mostUses: most }, longestSec);
      if (verdict === 'used') throw belowWhatWasUsed();
      return verdict === 'changed' ? describe(request) : whyGone(request);
    });
  }
  if (hasNotices) {
    // Uses that are counted from now on are told.
    app.post(`${url}/hooks`, { schema: hooks, config, bodyLimit: TOKEN_BODY_BYTES }, async (request) => {
      const { id } = await findAvailable(request);
      return (await owned.setHooks(id, hooksIn(request.body, limits))) ? describe(request) : whyGone(request);
    });
    app.delete(`${url}/hooks`, { schema: noHooks, config }, async (request) => {
      await owned.endHooks((await find(request)).id);
      return describe(request);
    });
  }
}
