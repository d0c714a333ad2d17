import { readdirSync, readlinkSync } from 'node:fs';
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { Client } from 'minio';
import { type FaultProxy, openFaultProxy } from './fault-proxy.ts';
import { freshFolder, testS3Settings } from './stores.ts';

/** The blob store of a running service, as tests look at it and break it. */
export type TestBlobs = AsyncDisposable & {
  /** The settings that lead a process to it. */
  settings: Record<string, string>;
  /** Everything that is stored but the store's marker, also what is half written. */
  names(): Promise<string[]>;
  /** Of what comes in parts, what was begun and is neither complete nor given up; on a disk `names` has it. */
  unfinished(): Promise<string[]>;
  read(id: string): Promise<Buffer>;
  /** Takes one payload away behind the service's back, and puts it back. */
  hide(id: string): Promise<void>;
  show(id: string): Promise<void>;
  remove(id: string): Promise<void>;
  /** Stores something that no upload knows of. */
  plant(name: string, bytes: Buffer): Promise<void>;
  /** The whole store cannot be reached until it is back. */
  away(): Promise<void>;
  back(): Promise<void>;
  /** Payloads that these processes have open, by process number. */
  openIn(pids: (number | undefined)[]): number;
};

/** The store's marker, by which the database knows it. */
const isNoMarker = (name: string) => !name.startsWith('mayfly-store-');

/** In a folder of their own, or in this one, which goes with them. */
export async function diskBlobs(given?: AsyncDisposable & { path: string }): Promise<TestBlobs> {
  const folder = given ?? (await freshFolder());
  const path = join(folder.path, 'blobs');
  const pathOf = (id: string) => join(path, id.slice(0, 2), `${id}.bin`);
  const aside = (id: string) => join(folder.path, id);
  return {
    settings: { BLOB_DIR: path },
    names: async () =>
      (await readdir(path, { recursive: true, withFileTypes: true })).flatMap((entry) =>
        entry.isFile() && isNoMarker(entry.name) ? entry.name : [],
      ),
    unfinished: async () => [],
    read: (id) => readFile(pathOf(id)),
    hide: (id) => rename(pathOf(id), aside(id)),
    show: (id) => rename(aside(id), pathOf(id)),
    remove: (id) => rm(pathOf(id)),
    async plant(name, bytes) {
      await mkdir(join(path, name.slice(0, 2)), { recursive: true });
      await writeFile(join(path, name.slice(0, 2), name), bytes);
    },
    away: () => rename(path, `${path}-away`),
    back: () => rename(`${path}-away`, path),
    openIn: (pids) => pids.flatMap((pid) => openFiles(pid)).filter((target) => target.startsWith(path)).length,
    [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose](),
  };
}

function openFiles(pid: number | undefined): string[] {
  const folder = `/proc/${pid}/fd`;
  return readdirSync(folder).map((name) => {
    try {
      return readlinkSync(`${folder}/${name}`);
    } catch {
      return ''; // closed since it was listed
    }
  });
}

export type S3TestBlobs = TestBlobs & { proxy: FaultProxy };

/** A bucket of its own, reached through a proxy that can be cut; or somebody else's, which stays. */
export async function s3Blobs(settings = testS3Settings(), { isOwn = true } = {}): Promise<S3TestBlobs> {
  const { hostname, port } = new URL(settings.S3_ENDPOINT);
  const proxy = await openFaultProxy(settings.S3_ENDPOINT);
  const bucket = settings.S3_BUCKET;
  const client = new Client({
    endPoint: hostname,
    port: Number(port),
    useSSL: false,
    region: settings.S3_REGION,
    accessKey: settings.S3_ACCESS_KEY,
    secretKey: settings.S3_SECRET_KEY,
  });
  const hidden = new Map<string, Buffer>();
  const read = async (id: string) => buffer(await client.getObject(bucket, `${id}.bin`));
  const remove = (id: string) => client.removeObject(bucket, `${id}.bin`);
  const plant = async (name: string, bytes: Buffer) => void (await client.putObject(bucket, name, bytes, bytes.length));
  const allNames = async () => {
    const found: string[] = [];
    for await (const { name } of client.listObjectsV2(bucket, '', true)) found.push(name);
    return found;
  };
  const names = async () => (await allNames()).filter(isNoMarker);
  const unfinished = async () => {
    const found: string[] = [];
    for await (const { key } of client.listIncompleteUploads(bucket, '', true)) found.push(key);
    return found;
  };
  return {
    proxy,
    settings: { ...settings, S3_ENDPOINT: `http://127.0.0.1:${proxy.port}` },
    names,
    unfinished,
    read,
    async hide(id) {
      hidden.set(id, await read(id));
      await remove(id);
    },
    show: (id) => plant(`${id}.bin`, hidden.get(id) ?? Buffer.alloc(0)),
    remove,
    plant,
    away: async () => proxy.cut(),
    back: async () => proxy.mend(),
    openIn: () => proxy.connections(),
    async [Symbol.asyncDispose]() {
      await proxy[Symbol.asyncDispose]();
      if (!isOwn) return;
      const left = await allNames().catch(() => []); // no service has made the bucket
      if (left.length > 0) await client.removeObjects(bucket, left);
      await client.removeBucket(bucket).catch(() => {}); // the same
    },
  };
}
