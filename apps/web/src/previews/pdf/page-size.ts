/** Four bytes each while a page is shown: about what a screen of 3840 × 2160 has. */
const MOST_PIXELS = 8_000_000;
/** Browsers draw nothing on longer sides. */
const MOST_PIXELS_OF_SIDE = 8_192;

/** By how much a page is enlarged to be `wanted` pixels wide, or less when that were too many, however long it is. */
export function scaleOf(width: number, height: number, wanted: number): number {
  return Math.min(
    wanted / width,
    Math.sqrt(MOST_PIXELS / (width * height)),
    MOST_PIXELS_OF_SIDE / Math.max(width, height),
  );
}
