import * as pdfjs from 'pdfjs-dist/legacy/build/pdf.mjs';
import workerUrl from 'pdfjs-dist/legacy/build/pdf.worker.mjs?worker&url';
import { trustedScriptUrl } from '../../trusted-script-urls.ts';
import { NoPdf } from './no-pdf.ts';
import { scaleOf } from './page-size.ts';
import { pdfFiles } from './pdf-files.ts';

/** Images in a document that have more are left out. */
const MOST_IMAGE_PIXELS = 100_000_000;
/** A worker that is busy with a document made to keep it busy does not answer. */
const GOODBYE_MS = 1_000;

export type Pdf = {
  pageCount: number;
  /** A picture of a page, the first is 1, about so many pixels wide. Fails when it cannot be drawn, or is no longer wanted. */
  draw(page: number, widthPixels: number, signal: AbortSignal): Promise<HTMLCanvasElement>;
  /** Lets everything go that it holds. */
  close(): void;
};

/** Pictures of pages and nothing more: no script, link, form or attachment of the document gets anywhere. Fails with NoPdf. */
export async function openPdf(content: Blob): Promise<Pdf> {
  const data = await content.arrayBuffer();
  const port = new Worker(trustedScriptUrl(workerUrl), { type: 'module' });
  const worker = pdfjs.PDFWorker.create({ port, verbosity: pdfjs.VerbosityLevel.ERRORS });
  let isIncomplete = false;
  const task = pdfjs.getDocument({
    data,
    worker,
    verbosity: pdfjs.VerbosityLevel.ERRORS,
    BinaryDataFactory: pdfFiles(() => {
      isIncomplete = true;
    }),
    useWorkerFetch: false,
    disableFontFace: true, // a stranger's font is drawn as lines, and never one of the browser's
    useSystemFonts: false,
    enableXfa: false,
    maxImageSize: MOST_IMAGE_PIXELS,
  });
  const close = async () => {
    await Promise.race([task.destroy(), new Promise((resolve) => setTimeout(resolve, GOODBYE_MS))]);
    worker.destroy();
    port.terminate();
  };
  const failed = new Promise<never>((_resolve, reject) => {
    // What could not be loaded has no message.
    port.onerror = ({ message }) => reject(new NoPdf(message ? 'unshowable' : 'no-viewer'));
  });
  failed.catch(() => {}); // whoever waits for it is told
  try {
    const document = await Promise.race([task.promise, failed]);
    return {
      pageCount: document.numPages,
      async draw(number, widthPixels, signal) {
        const canvas = await Promise.race([draw(document, number, widthPixels, signal), failed]);
        if (isIncomplete) throw new NoPdf('no-viewer');
        return canvas;
      },
      close,
    };
  } catch (error) {
    void close();
    if (error instanceof NoPdf) throw error;
    const isProtected = error instanceof Error && error.name === 'PasswordException'; // its class is not exported
    throw new NoPdf(isProtected ? 'protected' : 'unshowable');
  }
}

async function draw(document: pdfjs.PDFDocumentProxy, number: number, widthPixels: number, signal: AbortSignal) {
  const page = await document.getPage(number);
  signal.throwIfAborted();
  const { width, height } = page.getViewport({ scale: 1 });
  const viewport = page.getViewport({ scale: scaleOf(width, height, widthPixels) });
  const canvas = globalThis.document.createElement('canvas');
  canvas.width = Math.max(1, Math.floor(viewport.width));
  canvas.height = Math.max(1, Math.floor(viewport.height));
  const task = page.render({ canvas, viewport });
  const cancel = () => task.cancel();
  signal.addEventListener('abort', cancel);
  try {
    await task.promise;
  } finally {
    signal.removeEventListener('abort', cancel);
    page.cleanup();
  }
  return canvas;
}
