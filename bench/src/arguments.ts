import { parseArgs } from 'node:util';
import type { Shape } from './service.ts';

export const USAGE = `Usage: npm run bench -- [all|split] [--quick] [--only NAME]... [--rounds N] [--seconds N] [--url URL]... [--folder DIR]

  all, split   the shape that is started (all)
  --quick      one short round: to see that it works, not to cite
  --only       this scenario only; may be repeated
  --url        measure a service that runs there, too; its limits must let the load through
  --folder     where stores, payloads and the references' files lie while it runs (/var/tmp)`;

export type BenchArguments = {
  shape: Shape;
  isQuick: boolean;
  only: string[];
  rounds: number;
  seconds: number;
  urls: string[];
  folder: string;
};

/** Throws with a sentence when the command line is wrong. */
export function readArguments(args: string[], scenarios: string[]): BenchArguments {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: {
      quick: { type: 'boolean', default: false },
      only: { type: 'string', multiple: true, default: [] },
      url: { type: 'string', multiple: true, default: [] },
      rounds: { type: 'string' },
      seconds: { type: 'string' },
      folder: { type: 'string', default: '/var/tmp' },
    },
  });
  const [shape = 'all', ...more] = positionals;
  if ((shape !== 'all' && shape !== 'split') || more.length > 0) throw new Error('the shape is all or split');
  const unknown = values.only.find((name) => !scenarios.includes(name));
  if (unknown) throw new Error(`no scenario is called ${unknown}: there are ${scenarios.join(', ')}`);
  return {
    shape,
    isQuick: values.quick,
    only: values.only,
    rounds: positive('--rounds', values.rounds ?? (values.quick ? '1' : '3')),
    seconds: positive('--seconds', values.seconds ?? (values.quick ? '1' : '5')),
    urls: values.url.map((url) => new URL(url).origin),
    folder: values.folder,
  };
}

function positive(name: string, text: string): number {
  const number = Number(text);
  if (!Number.isInteger(number) || number < 1) throw new Error(`${name} is a whole number from 1`);
  return number;
}
