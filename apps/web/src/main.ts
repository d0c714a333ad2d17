import { mount } from 'svelte';
import App from './app.svelte';
import { showBrand } from './brand.svelte.ts';
import { takeSharesWhenInstalled } from './installed.ts';
import { useBestLanguage } from './languages/index.ts';
// In this order: of two rules that weigh the same, the later one holds.
import './styles/base.css';
import './styles/frame.css';
import './styles/blocks.css';
import './styles/things.css';
import './styles/buttons.css';
import './styles/fields.css';
import './styles/first-page.css';
import './styles/progress.css';
import './styles/content.css';

void showBrand();
await useBestLanguage();
const target = document.getElementById('app');
target?.replaceChildren(); // it said that nothing had started
if (target) mount(App, { target });
takeSharesWhenInstalled();
void import('./offline/keep-page.ts').then(({ keepOfflinePage }) => keepOfflinePage()).catch(() => {}); // then the browser has its own
// What a page that has crashed, or was closed, has left of a download is not kept for longer than it can be continued.
void import('./saving/leftovers.ts').then(({ clearLeftovers }) => clearLeftovers()).catch(() => {}); // then the next page does
