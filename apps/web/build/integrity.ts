import { createHash } from 'node:crypto';
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Subresource integrity: every script and style sheet that the document names gets its hash, and an import map gives the
 * hashes of the scripts that other scripts import, now or later. Workers have no such thing in any browser.
 */
export function addIntegrity(folder: string) {
  const page = join(folder, 'index.html');
  const scripts = globSync('assets/*.js', { cwd: folder }).sort();
  const integrity = Object.fromEntries(scripts.map((path) => [`/${path}`, hashOf(join(folder, path))]));
  const html = readFileSync(page, 'utf8')
    .replace(/<(script|link)\b[^>]*\s(?:src|href)="(\/assets\/[^"]+\.(?:js|css))"[^>]*>/g, (tag, _name, path) =>
      tag.replace(/>$/, ` integrity="${hashOf(join(folder, path))}">`),
    )
    // Before the first module is asked for.
    .replace('</title>', `</title>\n    <script type="importmap">${JSON.stringify({ integrity })}</script>`);
  writeFileSync(page, html);
}

function hashOf(path: string): string {
  return `sha384-${createHash('sha384').update(readFileSync(path)).digest('base64')}`;
}
