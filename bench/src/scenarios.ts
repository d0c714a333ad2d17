import type { Request } from './connection.ts';
import { sendAll } from './load.ts';
import { AUTH_TOKEN, createNote, createUpload, get, postJson, type ServiceLimits } from './messages.ts';
import { fileName, type Reference } from './references.ts';

const KIB = 1024;
const MIB = 1024 * KIB;
const GIB = 1024 * MIB;

export type Ask = (index: number) => Request;

export type Scenario = {
  name: string;
  /** What its cost is counted by. */
  per: '1,000 requests' | 'GB';
  connections: number;
  /** So many requests end a round before its time does. */
  maxRequests?: number;
  /** The service's requests; what they need is made first, anew in every round. */
  prepare: (url: string, limits: ServiceLimits, isQuick: boolean) => Promise<Ask>;
  references: Partial<Record<Reference, Ask>>;
};

/** Sent over and over: the generator's memory stays small. */
const MEBIBYTE = Buffer.alloc(MIB, 'sealed bytes, as random as it takes ');
const NOTES = 1_000;
const UPLOADS = 100;

const smallReferences = {
  http: (index: number) => get('/', index),
  fastify: (index: number) => get('/api/info/x', index),
};
const small = { per: '1,000 requests', connections: 64, references: smallReferences } as const;

const uploadOf = (name: string, sizeBytes: number, connections: number, maxRequests?: number): Scenario => {
  const chunk = sizeBytes < MIB ? MEBIBYTE.subarray(0, sizeBytes) : MEBIBYTE;
  return {
    name,
    per: sizeBytes < GIB ? '1,000 requests' : 'GB',
    connections,
    ...(maxRequests ? { maxRequests } : {}),
    prepare: async (_url, limits) => (index) => createUpload(index, limits, chunk, sizeBytes),
    references: { sink: (index) => createUpload(index, NO_LIMITS, chunk, sizeBytes) },
  };
};

const downloadOf = (name: string, sizeBytes: number, connections: number, maxRequests?: number): Scenario => ({
  name,
  per: sizeBytes < GIB ? '1,000 requests' : 'GB',
  connections,
  ...(maxRequests ? { maxRequests } : {}),
  prepare: async (url, limits) => {
    const count = sizeBytes < GIB ? UPLOADS : 1;
    const ids = await makeUploads(url, limits, count, sizeBytes);
    return (index) => get(`/api/download/${ids[index % ids.length]}`, index, { 'X-Auth-Token': AUTH_TOKEN });
  },
  references: {
    reader: (index) => get(`/${fileName(sizeBytes)}`, index),
    nginx: (index) => get(`/${fileName(sizeBytes)}`, index),
  },
});

/** The references look at no header. */
const NO_LIMITS = { downloadOptions: [1], expireOptionsSec: [60], noteViewOptions: [1], noteExpireOptionsSec: [60] };

export const SERVED_SIZES = [64 * KIB, MIB, GIB];

export const SCENARIOS: Scenario[] = [
  {
    ...small,
    name: 'info',
    prepare: async (url, limits, isQuick) => {
      const ids = await makeUploads(url, limits, isQuick ? 10 : UPLOADS, KIB);
      return (index) => get(`/api/info/${ids[index % ids.length]}`, index);
    },
  },
  {
    ...small,
    name: 'exists',
    prepare: async (url, limits, isQuick) => {
      const ids = await makeUploads(url, limits, isQuick ? 10 : UPLOADS, KIB);
      return (index) => get(`/api/exists/${ids[index % ids.length]}`, index);
    },
  },
  {
    ...small,
    name: 'note-get',
    prepare: async (url, limits, isQuick) => {
      const ids = await makeNotes(url, limits, isQuick ? 10 : UPLOADS);
      return (index) => get(`/api/note/${ids[index % ids.length]}`, index);
    },
  },
  { ...small, name: 'note-create', prepare: async (_url, limits) => (index) => createNote(index, limits) },
  {
    ...small,
    name: 'note-view',
    maxRequests: NOTES * 50, // below the limit of the notes' views
    prepare: async (url, limits) => {
      const ids = await makeNotes(url, limits, NOTES);
      return (index) => postJson(`/api/note/${ids[index % ids.length]}/view`, index, { authToken: AUTH_TOKEN });
    },
  },
  uploadOf('upload-64k', 64 * KIB, 16),
  downloadOf('download-64k', 64 * KIB, 16, UPLOADS * 50),
  uploadOf('upload-1m', MIB, 16),
  downloadOf('download-1m', MIB, 16, UPLOADS * 50),
  uploadOf('upload-1g', GIB, 1, 1),
  downloadOf('download-1g', GIB, 1, 2),
];

/** Throws for a name that there is not. */
export function scenario(name: string): Scenario {
  const found = SCENARIOS.find((one) => one.name === name);
  if (!found) throw new Error(`no scenario is called ${name}`);
  return found;
}

/** Downloads that nobody reads: of more than the buffers on the way hold. */
export async function slowDownloads(url: string, limits: ServiceLimits, count: number): Promise<Ask> {
  const ids = await makeUploads(url, limits, Math.ceil(count / 20), 16 * MIB);
  return (index) => get(`/api/download/${ids[index % ids.length]}`, index, { 'X-Auth-Token': AUTH_TOKEN });
}

async function makeNotes(url: string, limits: ServiceLimits, count: number): Promise<string[]> {
  return idsOf(
    url,
    Array.from({ length: count }, (_, index) => createNote(index, limits)),
  );
}

async function makeUploads(url: string, limits: ServiceLimits, count: number, sizeBytes: number): Promise<string[]> {
  const chunk = sizeBytes < MIB ? MEBIBYTE.subarray(0, sizeBytes) : MEBIBYTE;
  return idsOf(
    url,
    Array.from({ length: count }, (_, index) => createUpload(index, limits, chunk, sizeBytes)),
  );
}

async function idsOf(url: string, requests: Request[]): Promise<string[]> {
  const answers = await sendAll(url, requests);
  return answers.map(({ text }) => (JSON.parse(text) as { id: string }).id); // as the contract says
}
