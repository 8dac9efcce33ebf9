// Where the page is. A place is a plain object,
// {view: 'grid', split: 'train', where: 'label == 3'}, and stands behind the # of the address:
// every view and every record has one, the button "back" works, and an address can be given to
// others.

import {h} from './elements.js';

// What chooses records. The server takes the same names but for "ticked", which ticks.js knows.
const CHOICE = ['split', 'where', 'text', 'inside', 'label', 'only', 'truth', 'found', 'group', 'ticked', 'sort', 'descending'];
// What leaves records out; without these the choice is the whole split.
export const LIMITS = ['where', 'text', 'label', 'only', 'truth', 'found', 'group', 'ticked'];

// "a=1&b=x y" of an object; what is empty is left out.
export function query(values) {
	const kept = Object.entries(values).filter(([, value]) => value !== '' && value !== null && value !== undefined && value !== false);
	return new URLSearchParams(kept.map(([name, value]) => [name, value === true ? '1' : value])).toString();
}

export function read() {
	const [view, rest] = location.hash.slice(1).split(/\?(.*)/s);
	return {...Object.fromEntries(new URLSearchParams(rest ?? '')), view: view || 'grid'};
}

export function write({view, ...values}) {
	const rest = query(values);
	return `#${view}${rest && '?' + rest}`;
}

// The address of a choice in the grid.
export const toGrid = (split, values) => write({view: 'grid', split, ...values});

export const choiceOf = place => Object.fromEntries(CHOICE.filter(name => place[name]).map(name => [name, place[name]]));

// A place with this has no limits.
export const UNLIMITED = Object.fromEntries(LIMITS.map(name => [name, '']));

// Goes to a place. With `replace` the button "back" does not stop at the one before.
export function go(place, replace = false) {
	const address = write(place);
	if (address !== location.hash) history[replace ? 'replaceState' : 'pushState'](null, '', address);
	dispatchEvent(new PopStateEvent('popstate'));
}

// Writes down where in a view the reader is, without drawing it anew; not where another view has
// been asked for meanwhile.
export function note(place) {
	if (read().view === place.view) history.replaceState(null, '', write(place));
}

// What the server is asked. Its addresses are in inspect/serve/README.md; all of them are
// relative to the page, which does not know its token.

// What api/set answers; the server writes it into the page.
export const set = JSON.parse(document.getElementById('set').textContent);

const kept = new Map();  // answers by address, the oldest first
const MAX_KEPT = 80;

export const splitOf = name => set.splits.find(split => split.name === name);

// The address of something with what it needs. The fingerprint lets browsers keep the answer.
export function address(name, values) {
	return `${name}?${query({...values, v: values.split && splitOf(values.split)?.fingerprint})}`;
}

let waiting = null;

// Done when the server answers again: after a lost connection, or when it was started anew. Another
// data set needs another page.
function served() {
	waiting ??= (async () => {
		const says = h('p.lost', {role: 'alert'}, 'ffinspect serve does not answer. Start it again with the same --port and --token; this page then continues by itself.');
		document.body.prepend(says);
		for (let there = null; !there;) {
			await new Promise(done => setTimeout(done, 700));
			there = await fetch('api/set', {cache: 'no-store', signal: AbortSignal.timeout(3000)}).then(answer => answer.ok ? answer.json() : null).catch(() => null);
			if (there && JSON.stringify(there.splits) !== JSON.stringify(set.splits)) location.reload();
		}
		says.remove();
		waiting = null;
	})();
	return waiting;
}

// What fetch() answers, however long the server is away.
async function fetched(place, signal) {
	for (;;) {
		try {
			return await fetch(place, {signal});
		} catch (error) {
			if (!(error instanceof TypeError)) throw error;
			await served();
			signal?.throwIfAborted();
		}
	}
}

// The JSON that an address answers with. Throws Error with the server's sentence; an aborted
// request throws an AbortError.
export async function ask(name, values = {}, {signal, keep = true} = {}) {
	const place = address(name, values);
	if (keep && kept.has(place)) return kept.get(place);
	const response = await fetched(place, signal);
	const answer = await response.json();
	if (!response.ok) throw new Error(answer.error);
	if (keep) kept.set(place, answer);
	if (kept.size > MAX_KEPT) kept.delete(kept.keys().next().value);
	return answer;
}

// The lines of a list of records. One request, however many there are.
export async function lines(values) {
	const response = await fetched(address('list', values));
	if (!response.ok) throw new Error((await response.json()).error);
	const text = await response.text();
	return text ? text.slice(0, -1).split('\n') : [];
}

// Why a picture did not come: the sentence that the server gives instead of it. `shown` is said
// where the server has the picture.
export async function reasonOf(place, signal, shown = 'The browser cannot show this picture.') {
	try {
		const response = await fetched(place, signal);
		return response.ok ? shown : (await response.json()).error;
	} catch {
		return '';
	}
}

// For an image whose picture did not come: tells why, or loads it when the server is back.
export async function failed(image, tell) {
	const source = image.getAttribute('src');
	if (!source) return;
	const reason = await reasonOf(source, undefined, null);
	if (source !== image.getAttribute('src')) return;
	if (reason || image.dataset.again === source) return tell(reason ?? 'The browser cannot show this picture.');
	image.dataset.again = source;
	image.src = source;
}

// What was found, in words. `of` has found and found_name.
export const foundName = (split, of) => splitOf(split).classes?.[of.found]?.name ?? of.found_name ?? of.found;

export const isAborted = error => error.name === 'AbortError';

// Runs f(signal); what ran before is given up. What fails otherwise is told to `failed`.
export function latest(failed) {
	let running = new AbortController();
	return {
		stop: () => running.abort(),
		async run(f) {
			running.abort();
			running = new AbortController();
			const {signal} = running;
			try {
				await f(signal);
			} catch (error) {
				if (!isAborted(error) && !signal.aborted) failed(error);
			}
		},
	};
}

// The kind of the results that belong to a split, or undefined.
export const resultsOf = split => set.results?.split === split ? set.results.kind : undefined;

// The order that has the worst results first.
export function worstFirst(split) {
	const sort = ['loss', 'mistakes', 'distance'].find(name => splitOf(split).orders.includes(name));
	return {sort, descending: '1'};
}
