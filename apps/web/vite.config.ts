import { svelte } from '@sveltejs/vite-plugin-svelte';
import { defineConfig } from 'vite';
import { texts } from './build/texts/plugin.ts';

/** The service worker's address, and below which addresses it works: none of the app's own pages is among them. */
const SERVICE_WORKER = 'handover/service-worker.js';

export default defineConfig({
  root: import.meta.dirname,
  plugins: [svelte(), texts()],
  worker: { format: 'es' },
  build: {
    target: 'es2023',
    emptyOutDir: true,
    assetsInlineLimit: 0, // the content security policy knows no inline sources
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    license: { fileName: 'licenses.txt' }, // of what is bundled, but for what only workers import
    rolldownOptions: {
      checks: { pluginTimings: false }, // a word about slow plugins is of no use to who builds it
      input: ['index.html', 'src/service-worker/service-worker.ts'],
      output: {
        entryFileNames: ({ name }) => (name === 'service-worker' ? SERVICE_WORKER : 'assets/[name]-[hash].js'),
      },
    },
  },
  // npm run dev-like use against a service that runs: the API is the service's.
  server: { proxy: { '/api': process.env.MAYFLY_URL ?? 'http://localhost:3000' } },
});
