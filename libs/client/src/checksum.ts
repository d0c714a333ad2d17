/** Eight bytes are looked up at a time ("slicing-by-8", Kounavis and Berry, ISCC 2005): twice as fast as one by one. */
const SLICES = 8;
const TABLE = buildTable();

function buildTable(): Int32Array {
  const table = new Int32Array(SLICES * 256);
  for (let index = 0; index < table.length; index += 1) {
    const before = table[index - 256] ?? 0;
    let sum = index < 256 ? index : (before >>> 8) ^ (table[before & 255] ?? 0);
    for (let bit = 0; index < 256 && bit < 8; bit += 1) sum = (sum >>> 1) ^ (sum & 1 ? 0xedb88320 : 0);
    table[index] = sum;
  }
  return table;
}

/** The checksum of a zip (ISO 3309, as zlib computes it), from 0 to 2^32 - 1. With `before`, of what had that one and these bytes. */
export function crc32(bytes: Uint8Array, before = 0): number {
  const at = (slice: number, byte: number) => TABLE[slice * 256 + byte] as number; // both are in the table
  const byte = (index: number) => bytes[index] as number; // every index is below the length
  let sum = ~before;
  let index = 0;
  for (; index + SLICES <= bytes.length; index += SLICES) {
    sum ^= byte(index) | (byte(index + 1) << 8) | (byte(index + 2) << 16) | (byte(index + 3) << 24);
    sum =
      at(7, sum & 255) ^
      at(6, (sum >>> 8) & 255) ^
      at(5, (sum >>> 16) & 255) ^
      at(4, sum >>> 24) ^
      at(3, byte(index + 4)) ^
      at(2, byte(index + 5)) ^
      at(1, byte(index + 6)) ^
      at(0, byte(index + 7));
  }
  for (; index < bytes.length; index += 1) sum = (sum >>> 8) ^ at(0, (sum ^ byte(index)) & 255);
  return ~sum >>> 0;
}
