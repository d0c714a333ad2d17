import type { Bytes } from './bytes.ts';
import { MayflyError } from './errors.ts';

// docs/crypto.md, "Padding".

/**
 * Rounds a size up so that few sizes are left: Padmé (Nikitin et al., "Reducing Metadata Leakage from Encrypted Files and
 * Communication with PURBs", PoPETs 2019(4)). Exact up to 2^53.
 */
export function padme(sizeBytes: number): number {
  if (sizeBytes < 2) return sizeBytes;
  const exponent = bitsOf(sizeBytes) - 1;
  const unit = 2 ** (exponent - bitsOf(exponent));
  return Math.ceil(sizeBytes / unit) * unit;
}

/** Length of a whole number in binary. Logarithms are not exact enough. */
function bitsOf(number: number): number {
  return number.toString(2).length;
}

/** The first so many bytes. Throws `tampered` when they are not there, or when anything but zeros follows them. */
export async function* withoutPadding(plaintext: AsyncIterable<Bytes>, sizeBytes: number): AsyncGenerator<Bytes, void> {
  let missingBytes = sizeBytes;
  for await (const piece of plaintext) {
    const content = piece.subarray(0, missingBytes);
    missingBytes -= content.length;
    if (content.length > 0) yield content;
    if (piece.subarray(content.length).some((byte) => byte !== 0)) throw new MayflyError('tampered');
  }
  if (missingBytes > 0) throw new MayflyError('tampered');
}
