#!/usr/bin/env node
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { clientCases } from './client/ask-client.ts';
import { send } from './http.ts';
import { checkLimits, type Limits, limitsOf } from './limits.ts';
import { json, junit, plainLine, summary } from './reports.ts';
import { run } from './run.ts';
import { onSite } from './server-cases.ts';
import { Site } from './site.ts';

const USAGE = `Usage: mayfly-conformance --base URL [options]
       mayfly-conformance --client COMMAND [options]

Tells whether a server keeps the HTTP contract, or whether a client computes what the format says.

  --base URL         the server's address; it is sent some 300 small requests, and what they create is deleted
  --limits FILE      the server's limits as GET /api/config would answer them, for a server that answers something else
  --wait SECONDS     how long a case may wait for something to expire (10)
  --client COMMAND   reads questions from its input, a line of JSON each, and writes a line for each
  --vectors FILE     other vectors
  --exhaust          also what takes thousands of requests or minutes: the limits of a client
  --only TEXT        the cases whose section or name holds this text
  --json FILE        a report for programs
  --junit FILE       a report for CI systems
  --help

MAYFLY_KEY has the key of a server on which creating takes one.
Exits with 0 when nothing failed, 1 when something did, 2 when nothing could be tried.`;

/** A mistake of whoever called; the message says which. */
class Unusable extends Error {}

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      base: { type: 'string' },
      limits: { type: 'string' },
      wait: { type: 'string', default: '10' },
      client: { type: 'string' },
      vectors: { type: 'string' },
      exhaust: { type: 'boolean', default: false },
      only: { type: 'string', default: '' },
      json: { type: 'string' },
      junit: { type: 'string' },
      help: { type: 'boolean' },
    },
  });
  if (values.help) {
    console.log(USAGE);
    return 0;
  }
  const { base, client } = values;
  if ((base === undefined) === (client === undefined)) throw new Unusable('either --base or --client is needed');
  const under =
    client === undefined
      ? {
          cases: await serverCases(base ?? '', values.limits, {
            waitSec: Number(values.wait),
            mayExhaust: values.exhaust,
          }),
          stop: async () => {},
        }
      : clientCases(client, JSON.parse(readFileSync(values.vectors ?? vectorsFile(), 'utf8')));
  const chosen = under.cases.filter(({ section, name }) => `${section} ${name}`.includes(values.only));
  if (chosen.length === 0) throw new Unusable('no case holds this text');
  const results = await run(chosen, (result) => console.log(plainLine(result))).finally(under.stop);
  console.log(`\n${summary(results)}`);
  if (values.json) writeFileSync(values.json, json(base ?? client ?? '', results));
  if (values.junit) writeFileSync(values.junit, junit(results));
  return results.some(({ outcome }) => outcome === 'failed') ? 1 : 0;
}

async function serverCases(
  address: string,
  limitsFile: string | undefined,
  options: { waitSec: number; mayExhaust: boolean },
) {
  const base = URL.parse(address);
  if (!base?.protocol.match(/^https?:$/)) throw new Unusable('--base takes an address: https://mayfly.example');
  if (!(options.waitSec >= 0)) throw new Unusable('--wait takes seconds');
  const given = limitsFile === undefined ? undefined : checkLimits(JSON.parse(readFileSync(limitsFile, 'utf8')));
  const limits = given ?? (await ask(base));
  return onSite(new Site(base, limits, { ...options, key: process.env.MAYFLY_KEY }));
}

async function ask(base: URL): Promise<Limits> {
  try {
    return limitsOf(await send(base, 'GET', '/api/config'));
  } catch (error) {
    throw new Unusable(`GET /api/config has no limits to go by (--limits names some): ${(error as Error).message}`);
  }
}

/** Beside the bundle, else where the format is described. */
function vectorsFile(): string {
  const packed = join(import.meta.dirname, 'vectors.json');
  return existsSync(packed) ? packed : join(import.meta.dirname, '../../../docs/vectors/vectors.json');
}

process.exitCode = await main().catch((error: Error) => {
  console.error(`${error.message}\n\n${USAGE}`);
  return 2;
});
