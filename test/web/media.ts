import { crc32, deflateSync } from 'node:zlib';
import type { Page } from 'playwright-core';

const BANDS = 24;

/** A picture of that size, with a soft gradient. */
export function png(width: number, height: number): Buffer<ArrayBuffer> {
  const bands = Array.from({ length: BANDS }, (_, band) => {
    const row = Buffer.alloc(1 + width * 3);
    for (let x = 0; x < width; x += 1) {
      row.set([30 + (x / width) * 200, 60 + band * 6, 200 - (x / width) * 90], 1 + x * 3);
    }
    return row;
  });
  const rows = Array.from({ length: height }, (_, y) => bands[Math.floor((y / height) * BANDS)] ?? Buffer.alloc(0));
  return pngOf(width, height, { depth: 8, colour: 2, rows });
}

/** A black one: few bytes, however many pixels it has. */
export function blackPng(width: number, height: number): Buffer<ArrayBuffer> {
  const row = Buffer.alloc(1 + Math.ceil(width / 8));
  return pngOf(width, height, { depth: 1, colour: 0, rows: Array.from({ length: height }, () => row) });
}

type Pixels = { depth: number; colour: number; rows: Buffer[] };

function pngOf(width: number, height: number, { depth, colour, rows }: Pixels): Buffer<ArrayBuffer> {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([depth, colour], 8);
  const chunks = [pngChunk('IHDR', header), pngChunk('IDAT', deflateSync(Buffer.concat(rows))), pngChunk('IEND')];
  return Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), ...chunks]);
}

function pngChunk(type: string, data = Buffer.alloc(0)): Buffer {
  const body = Buffer.concat([Buffer.from(type), data]);
  const [length, check] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  check.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, check]);
}

/** So many seconds of a tone. */
export function wav(seconds: number): Buffer<ArrayBuffer> {
  const RATE = 8_000;
  const sound = Buffer.from(Array.from({ length: seconds * RATE }, (_, at) => 128 + Math.round(40 * Math.sin(at / 3))));
  const header = Buffer.alloc(44);
  header.write('RIFF');
  header.writeUInt32LE(36 + sound.length, 4);
  header.write('WAVEfmt ', 8);
  header.writeUInt32LE(16, 16);
  header.writeUInt16LE(1, 20);
  header.writeUInt16LE(1, 22);
  header.writeUInt32LE(RATE, 24);
  header.writeUInt32LE(RATE, 28);
  header.writeUInt16LE(1, 32);
  header.writeUInt16LE(8, 34);
  header.write('data', 36);
  header.writeUInt32LE(sound.length, 40);
  return Buffer.concat([header, sound]);
}

/** A short recording that this browser can show, made by itself. */
export async function webm(page: Page): Promise<Buffer<ArrayBuffer>> {
  const base64 = await page.evaluate(async () => {
    const canvas = document.createElement('canvas');
    [canvas.width, canvas.height] = [320, 180];
    const context = canvas.getContext('2d');
    const recorder = new MediaRecorder(canvas.captureStream(20), { mimeType: 'video/webm' });
    const pieces: Blob[] = [];
    const isLarge = new Promise((resolve) => {
      recorder.ondataavailable = ({ data }) => {
        pieces.push(data);
        if (pieces.filter((piece) => piece.size > 0).length > 3) resolve(undefined);
      };
    });
    recorder.start(100);
    let step = 0;
    const painting = setInterval(() => {
      step += 1;
      if (!context) return;
      context.fillStyle = `hsl(${step * 7} 60% 45%)`;
      context.fillRect(0, 0, 320, 180);
    }, 40);
    await isLarge;
    const stopped = new Promise((resolve) => {
      recorder.onstop = resolve;
    });
    recorder.stop();
    await stopped;
    clearInterval(painting);
    return new Uint8Array(await new Blob(pieces).arrayBuffer()).toBase64();
  });
  return Buffer.from(base64, 'base64');
}
