/** A picture takes four bytes for each while it is shown, however small its file is. */
const MOST_PIXELS = 100_000_000;

/** Decoded, but not in the page yet. Fails for what is no picture, or too large a one. */
export async function loadImage(url: string): Promise<HTMLImageElement> {
  const image = new Image();
  await new Promise((resolve, reject) => {
    image.onload = resolve;
    image.onerror = () => reject(new Error('no picture'));
    image.src = url;
  });
  // Known from its first bytes: browsers decode the rest when it is to be seen.
  if (image.naturalWidth * image.naturalHeight > MOST_PIXELS) throw new Error('too many pixels');
  await image.decode();
  return image;
}
