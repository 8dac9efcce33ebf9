// Where the page is. A place is a plain object, {view: 'grid', split: 'train', where: 'label == 3'},
// and stands behind the # of the address: every view and every record has one, the button "back"
// works, and an address can be given to others.

// What chooses records. The server takes the same names.
export const CHOICE = ['split', 'where', 'text', 'label', 'only', 'truth', 'found', 'group', 'sort', 'descending'];
// What leaves records out; without these the choice is the whole split.
export const LIMITS = ['where', 'text', 'label', 'only', 'truth', 'found', 'group'];

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

// Writes down where in a view the reader is, without drawing it anew.
export function note(place) {
	history.replaceState(null, '', write(place));
}
