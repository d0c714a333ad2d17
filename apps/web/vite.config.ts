import { svelte } from '@sveltejs/vite-plugin-svelte';
import { defineConfig } from 'vite';
import { texts } from './build/texts/plugin.ts';

/** The addresses of service workers say for which addresses they work: the first one's are no pages. */
const SERVICE_WORKERS: Record<string, string> = {
  'service-worker': 'handover/service-worker.js',
  'offline-worker': 'offline.js',
  'idle-worker': 'idle.js',
};

/** Functions of @noble/post-quantum that make key encapsulations which nothing here uses, and are not marked as free of effects. */
const NEEDLESS = ['QSF', 'createKitchenSink', 'ecdhKem'];

/** Not of a service worker, which would load the page's code with what the two share. */
const isOfPage = (id: string) => !/\/(?:service-worker|offline)\/|\?raw$|\/languages\/[\w-]+\.json$/.test(id);

export default defineConfig({
  root: import.meta.dirname,
  // Names of styles are hashes of paths: of those from here, whatever folder this lies in and whoever builds it.
  plugins: [svelte({ compilerOptions: { rootDir: import.meta.dirname } }), texts()],
  worker: { format: 'es', rolldownOptions: { treeshake: { manualPureFunctions: NEEDLESS } } },
  build: {
    target: 'es2023',
    emptyOutDir: true,
    assetsInlineLimit: 0, // the content security policy knows no inline sources
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    license: { fileName: 'licenses.txt' }, // of what is bundled, but for what only workers import
    rolldownOptions: {
      checks: { pluginTimings: false }, // a word about slow plugins is of no use to who builds it
      input: [
        'index.html',
        'src/service-worker/service-worker.ts',
        'src/offline/offline-worker.ts',
        'src/offline/idle-worker.ts',
      ],
      output: {
        // What the first page loads is one file: on a slow link each further one costs more than what it holds.
        codeSplitting: { groups: [{ name: 'first-page', tags: ['$initial'], test: isOfPage }] },
        entryFileNames: ({ name }) => SERVICE_WORKERS[name] ?? 'assets/[name]-[hash].js',
      },
    },
  },
  // npm run dev-like use against a service that runs: the API is the service's.
  server: { proxy: { '/api': process.env.MAYFLY_URL ?? 'http://localhost:3000' } },
});
