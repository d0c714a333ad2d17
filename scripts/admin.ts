import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { runningStores } from './start/running-stores.ts';

// npm run admin: the operators' commands, on the stores that the settings name, else on those of the npm start that runs here.

const root = resolve(import.meta.dirname, '..');
const { env } = process;
if (existsSync(join(root, '.env'))) process.loadEnvFile(join(root, '.env'));
const needsStores = !['push-keys', 'keygen'].includes(process.argv[2] ?? '');
if (needsStores && !env.DATABASE_URL && !env.DATABASE_URL_FILE) {
  const dataDir = resolve(root, env.MAYFLY_DATA_DIR || '.data');
  const stores = runningStores(dataDir);
  if (!stores) {
    console.error(
      `No Mayfly runs on ${dataDir}: start it, or set DATABASE_URL and BLOB_DIR (or S3_...) to its stores.`,
    );
    process.exit(1);
  }
  Object.assign(env, stores);
}
await import('../services/janitor/src/admin.ts');
