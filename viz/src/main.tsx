import { effect } from '@preact/signals';
import { render } from 'preact';
import { App } from './app';
import { isDark } from './draw/colours';
import './style.css';

// Before the first paint: nothing is light for a moment.
effect(() => {
  document.documentElement.dataset['theme'] = isDark() ? 'dark' : 'light';
});
const root = document.getElementById('app');
if (root !== null) render(<App />, root);
