// Keys of the page and of the view that is shown, and the help that lists them.
import {h, showDialog} from './elements.js';

const NAMES = {ArrowLeft: '←', ArrowRight: '→', ArrowUp: '↑', ArrowDown: '↓', PageUp: 'Page up', PageDown: 'Page down'};

// lists(): [[heading, [[keys with blanks, what they do, run, whether in fields as well]]]].
export function listenToKeys(lists) {
	document.addEventListener('keydown', event => {
		if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector('dialog[open]')) return;
		const target = event.target;
		const typing = target.matches('textarea, select, input:not([type=checkbox], [type=range])');
		const pressing = target.matches('a, button, summary, input') && ['Enter', ' '].includes(event.key);
		const sliding = target.matches('input[type=range]') && /^(Arrow|Page|Home|End)/.test(event.key);
		const all = lists().flatMap(([, keys]) => keys);
		const name = event.key === ' ' ? 'Space' : event.key;
		const key = all.find(([names, , , inFields]) => names.split(' ').includes(name) && (inFields || !(typing || pressing || sliding)));
		if (key) {
			event.preventDefault();
			key[2](event);
		} else if (typing && name === 'Escape') target.blur();
	});
}

export function showHelp(lists) {
	showDialog('Keys',
		lists().map(([heading, keys]) => keys.length > 0 && h('section', h('h3', heading),
			h('dl', keys.map(([names, does]) => [h('dt', names.split(' ').map(name => h('kbd', NAMES[name] ?? name))), h('dd', does)])))));
}
