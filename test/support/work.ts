import { argon2Sync } from 'node:crypto';

export type Offer = { challenge: string; memoryKiB: number; passes: number; tries: number };

/** How small the hash of a header is: contract 18, written a second time. */
const isSolution = ({ memoryKiB, passes, tries }: Offer, header: string) =>
  argon2Sync('argon2id', {
    message: Buffer.from(header),
    nonce: Buffer.from('mayfly:work:1'),
    memory: memoryKiB,
    passes,
    parallelism: 1,
    tagLength: 4,
  }).readUInt32BE() <
  2 ** 32 / tries;

/** The first number from this one on that makes a header a solution, or that makes it none. */
export function solve(offer: Offer, { from = 0, isRight = true } = {}): string {
  for (let number = from; ; number += 1) {
    const header = `${offer.challenge}.${number}`;
    if (isSolution(offer, header) === isRight) return header;
  }
}
