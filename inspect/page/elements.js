// Elements made in one call, and numbers as people read them. No HTML is ever parsed, so that no
// name of a class and no text of a record can become a part of the page.

function fill(element, properties, children) {
	for (const [name, value] of Object.entries(properties ?? {})) {
		if (value === null || value === undefined || value === false) continue;
		if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
		else if (name === 'class') element.setAttribute('class', value);
		else if (name in element && !(element instanceof SVGElement) && !name.startsWith('aria-'))
			element[name] = value;
		else element.setAttribute(name, value === true ? '' : value);
	}
	element.append(...children.flat(9).filter(child => child !== null && child !== undefined && child !== false));
	return element;
}

// h('button.quiet', {onclick: f}, 'Text', child): an element of HTML with its classes. Properties
// may be left out; those that begin with "on" are listeners. Children that are null or false are
// left out, lists are taken apart.
export function h(name, properties, ...children) {
	const [tag, ...classes] = name.split('.');
	const element = document.createElement(tag);
	if (classes.length) element.className = classes.join(' ');
	const isChild = properties instanceof Node || Array.isArray(properties) || typeof properties !== 'object';
	return fill(element, isChild ? {} : properties, isChild ? [properties, ...children] : children);
}

const sayingOf = one => one.id || one.title || one.ariaLabel || one.textContent;

// Puts children, as h() takes them, in place of what an element has. What had the focus has it
// again if it is among them.
export function put(element, ...children) {
	const focused = document.activeElement;
	const had = focused !== element && element.contains(focused);
	element.replaceChildren();
	fill(element, {}, children);
	if (had && !focused.isConnected) ([...element.querySelectorAll(focused.tagName)].find(one => sayingOf(one) === sayingOf(focused)) ?? document.getElementById('main')).focus({preventScroll: true});
	return element;
}

// As h(), of SVG.
export function svg(name, properties, ...children) {
	return fill(document.createElementNS('http://www.w3.org/2000/svg', name), properties, children);
}

// A button with a word or a sign, and what it does as its title.
export function button(text, does, onclick, properties) {
	return h('button', {type: 'button', title: does, ariaLabel: text.length < 3 ? does : null, onclick, ...properties}, text);
}

// A switch: a button that is pressed or not.
export function toggle(text, does, pressed, change) {
	return button(text, does, ({currentTarget}) => {
		const now = currentTarget.ariaPressed !== 'true';
		currentTarget.ariaPressed = now;
		change(now);
	}, {class: 'toggle', ariaPressed: String(pressed)});
}

// Presses the switch with this word.
export const press = (among, text) => [...among.querySelectorAll('.toggle')].find(one => one.textContent === text)?.click();

// A <select> of [value, text] pairs.
export function choose(label, pairs, value, change) {
	const select = h('select', {'aria-label': label, title: label, onchange: () => change(select.value)},
		pairs.map(([of, text]) => h('option', {value: of, selected: of === value}, text)));
	return select;
}

const thousands = new Intl.NumberFormat('en');
export const count = number => thousands.format(number);
export const counted = (number, one, several = `${one}s`) => `${count(number)} ${number === 1 ? one : several}`;

export function bytes(number) {
	for (const unit of ['B', 'kB', 'MB', 'GB']) {
		if (number < 1000 || unit === 'GB') return `${number < 10 && unit !== 'B' ? number.toFixed(1) : Math.round(number)} ${unit}`;
		number /= 1000;
	}
}

// The inside of a bar: its length, a name and a number.
export function bar(name, number, most) {
	const length = h('span.length');
	length.style.width = `${100 * number / most}%`;
	return [length, h('span.name', {title: typeof name === 'string' ? name : null}, name), h('span.value', count(number))];
}

// A class and what was found instead, whichever way their letters run.
export const instead = (truth, found) => [h('bdi', truth), ' → ', h('bdi', found)];

// A number in at most some four digits that count; what is no number as it is.
export function short(number) {
	if (typeof number !== 'number') return String(number);
	if (Number.isInteger(number)) return count(number);
	return Math.abs(number) >= 1e5 || Math.abs(number) < 1e-3 ? number.toExponential(2) : String(+number.toPrecision(4));
}

export const percent = share => `${(100 * share).toFixed(share >= 0.9995 || share < 0.1 ? 1 : 0)} %`;

// Says something to screen readers.
export function say(text) {
	document.getElementById('live').textContent = text;
}

// A sentence in place of what could not be shown.
export const problem = error => h('p.problem', {role: 'alert'}, error.message);

// A place for a sentence about what went wrong, which is not there while its text is empty.
export function sentence() {
	const element = problem({message: ''});
	element.tell = text => {
		element.textContent = text ?? '';
		element.hidden = !text;
	};
	element.tell('');
	return element;
}

export function showDialog(title, ...inside) {
	const dialog = h('dialog', {ariaLabel: title, onclose: () => dialog.remove()},
		h('div.heading', h('h2', title), button('Close', 'Closes this (Escape)', () => dialog.close())), inside);
	document.body.append(dialog);
	dialog.showModal();
}

// What the browser keeps: sessionStorage or localStorage, where it is allowed and not full.
export function stored(storage, key, value) {
	try {
		if (value !== undefined) window[storage].setItem(key, value);
		return window[storage].getItem(key);
	} catch {
		return null;
	}
}

// Calls f once, when nothing has called for so many milliseconds.
export function settled(milliseconds, f) {
	let timer = 0;
	const later = (...values) => {
		clearTimeout(timer);
		timer = setTimeout(() => f(...values), milliseconds);
	};
	later.stop = () => clearTimeout(timer);
	return later;
}
