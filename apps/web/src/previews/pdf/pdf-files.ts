/** What pdf.js looks up while it draws: fonts and character maps that documents name but do not hold, decoders of scans. */
const ADDRESSES = import.meta.glob<string>(
  [
    '../../../node_modules/pdfjs-dist/cmaps/*.bcmap',
    '../../../node_modules/pdfjs-dist/standard_fonts/*.{pfb,ttf}',
    '../../../node_modules/pdfjs-dist/wasm/{jbig2,openjpeg}.wasm',
    '../../../node_modules/pdfjs-dist/{standard_fonts,wasm}/LICENSE_*{FOXIT,LIBERATION,JBIG2,OPENJPEG}', // they go where the files go
  ],
  { query: '?url', import: 'default', eager: true },
);
const BY_NAME = new Map(Object.entries(ADDRESSES).map(([path, address]) => [path.split('/').at(-1), address]));

/**
 * For pdf.js, which makes one itself: asks this service for one of its own files, and for nothing else that a document may name.
 * Calls onMissing when one that exists does not come: what is drawn without it would look wrong.
 */
export function pdfFiles(onMissing: () => void) {
  return class {
    async fetch({ filename }: { filename: string }): Promise<Uint8Array> {
      const address = BY_NAME.get(filename);
      if (!address) throw new Error('no such file'); // pdf.js does without it
      try {
        const answer = await fetch(address);
        if (!answer.ok) throw new Error(`status ${answer.status}`);
        return new Uint8Array(await answer.arrayBuffer());
      } catch (error) {
        onMissing();
        throw error;
      }
    }
  };
}
