import { mount } from 'svelte';
import App from './app.svelte';
import { takeSharesWhenInstalled } from './installed.ts';
import { useBestLanguage } from './languages/index.ts';
import './style.css';

await useBestLanguage();
const target = document.getElementById('app');
if (target) mount(App, { target });
takeSharesWhenInstalled();
