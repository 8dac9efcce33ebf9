// Begins: draws the bar at the top and shows the view of the address.
import {choiceOf, go, read, resultsOf, set, splitOf, toGrid, write} from './addresses.js';
import {button, choose, count, counted, h, problem, put, stored} from './elements.js';
import {gridView} from './grid.js';
import {listenToKeys, showHelp} from './keys.js';
import * as ticks from './ticks.js';

// Views but the first one are loaded when they are needed.
const VIEWS = {
	grid: async () => gridView,
	record: async place => splitOf(place.split).kind === 'scenes' ? (await import('./scene.js')).sceneView : (await import('./record.js')).recordView,
	confusion: async () => (await import('./confusion.js')).confusionView,
	duplicates: async () => (await import('./duplicates.js')).duplicatesView,
	map: async () => (await import('./vectors.js')).mapView,
};

const main = document.getElementById('main');
const bar = document.getElementById('bar');
let view = null, viewName = '', turn = 0;

async function show() {
	const mine = ++turn;
	const place = read();
	if (!Object.hasOwn(VIEWS, place.view)) place.view = 'grid';
	const asked = place.split;
	if (!splitOf(asked)) place.split = set.first;
	showBar(place);
	if (asked && !splitOf(asked)) {
		view?.leave();
		view = null;
		return put(main, problem({message: `This data set has no split ${asked}.`}));
	}
	history.replaceState(null, '', write(place));
	if (view && viewName === place.view && view.update(place)) return title();
	try {
		const make = await VIEWS[place.view](place);
		if (mine !== turn) return;
		view?.leave();
		view = make(place);
		viewName = place.view;
		put(main, view.element);
		view.shown?.();
		if (document.activeElement === document.body) main.focus({preventScroll: true});
		title();
	} catch (error) {
		view = null;
		put(main, problem(error));
	}
}

function title() {
	document.title = `${view.title()} · ${nameOfSet()} · ffinspect`;
}

const nameOfSet = () => set.path.split('/').filter(Boolean).pop() ?? set.path;

function showBar(place) {
	const tab = (name, text, values) => h('a.tab', {href: write({view: name, ...values}), ariaCurrent: place.view === name ? 'page' : null}, text);
	const split = splitOf(place.split);
	const inGrid = place.view === 'grid' ? place : {...choiceOf(place), view: 'grid'};
	put(bar,
		h('a.brand', {href: toGrid(place.split), title: set.path}, nameOfSet()),
		set.splits.length > 1 ? choose('Split', set.splits.map(one => [one.name, `${one.name} · ${count(one.num_records)}`]), place.split, name => go({view: place.view === 'record' ? 'grid' : place.view, split: name}))
			: h('span.split', split.name),
		h('nav.tabs', {ariaLabel: 'Views'}, tab('grid', split.kind === 'scenes' ? 'Keyframes' : split.pictures.length ? 'Pictures' : 'Records', inGrid),
			resultsOf(split.name) === 'classes' && tab('confusion', 'Predictions', {split: split.name}),
			split.vectors.length > 0 && tab('map', 'Map', {...choiceOf(place)}),
			split.pictures.length > 0 && tab('duplicates', 'Duplicates', {split: split.name})),
		h('div.end', button(ticks.number() ? `List · ${counted(ticks.number(), 'tick')}` : 'List …', 'The shown or the ticked records as a list (l)', showList, {class: 'list'}),
			button('◐', 'Light or dark (t)', turnLight),
			button('?', 'Keys (?)', () => showHelp(keyLists))));
}

async function showList() {
	(await import('./out.js')).showOut(read());
}

// Light, dark, or as the system has it.
function turnLight() {
	const root = document.documentElement;
	const now = root.dataset.theme ?? (matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light');
	root.dataset.theme = now === 'dark' ? 'light' : 'dark';
	stored('localStorage', 'ffinspect theme', root.dataset.theme);
}

const ownKeys = [
	['g', 'to the grid', () => go({...choiceOf(read()), view: 'grid'})],
	['l', 'list of records', showList],
	['t', 'light or dark', turnLight],
	['?', 'this help', () => showHelp(keyLists)],
];
const keyLists = () => [['In this view', view?.keys ?? []], ['Everywhere', ownKeys]];

ticks.listen(() => showBar(read()));
document.getElementById('skip').addEventListener('click', event => {
	event.preventDefault();
	main.focus();
});
listenToKeys(keyLists);
addEventListener('popstate', show);
show();
