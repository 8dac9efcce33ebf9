// The classes of a choice, or the numbers of the column that sorts, as bars to be clicked.
import {ask, choiceOf, latest, splitOf} from './addresses.js';
import {bar, button, choose, count, counted, h, problem, put, settled, short} from './elements.js';

const MAX_BARS = 400;  // more are found by their names

// apply(values): what is clicked.
export function histogram(apply) {
	let place, bins = [], field = '', sort = 'class', loaded = '';
	const search = h('input', {type: 'search', placeholder: 'Find a class', ariaLabel: 'Find a class', oninput: settled(80, () => draw())});
	const heading = h('h2');
	const order = choose('Order of the classes', [['class', 'in order'], ['count', 'most first']], sort, value => { sort = value; draw(); });
	const bars = h('ul.bars');
	const left = h('p.help');
	const fields = h('div.heading');
	const element = h('section.histogram', fields, h('div.heading', heading, order), search, bars, left);

	const asked = latest(error => {
		loaded = '';
		element.hidden = false;
		put(bars, problem(error));
	});

	function show(next) {
		place = next;
		const split = splitOf(place.split), all = split.bars;
		element.hidden = !all.length;
		if (!all.length) return;
		const of = [place.bars, !split.classes && place.sort].find(name => all.includes(name)) ?? all[0];
		put(fields, all.length > 1 && choose('Bars of', all.map(name => [name, `Bars of ${name}`]), of, name => apply({bars: name})));
		const wanted = JSON.stringify({...choiceOf(place), sort: '', descending: '', field: of});
		if (wanted === loaded) return draw();
		asked.run(async signal => {
			({bins, field} = await ask('api/histogram', JSON.parse(wanted), {signal}));
			loaded = wanted;
			draw();
		});
	}

	function draw() {
		const classes = bins.length > 0 && bins[0].first === undefined;
		const most = Math.max(1, ...bins.map(bin => bin.num_records));
		const wanted = search.value.trim().toLowerCase();
		search.hidden = !classes || bins.length <= 12;
		order.hidden = !classes;
		heading.textContent = classes ? counted(bins.length, 'class', 'classes') : field;
		const shown = bins.filter(bin => !classes || `${bin.class} ${bin.class_name ?? ''}`.toLowerCase().includes(wanted));
		if (classes && sort === 'count') shown.sort((a, b) => b.num_records - a.num_records);
		const pressed = new Set(place.label?.split(','));
		const missing = shown.length - MAX_BARS;
		left.textContent = missing > 0 ? `${count(missing)} more; search for them by name.` : classes && !shown.length ? 'No class has this name.' : '';
		put(bars, shown.slice(0, MAX_BARS).map(bin => classes ? classBar(bin, most, pressed) : rangeBar(bin, most)));
	}

	function classBar(bin, most, pressed) {
		const label = String(bin.label), on = pressed.has(label);
		const name = bin.class_name ?? bin.class ?? label;
		return barOf(name, bin, most, on, `${name} (${[bin.class, `label ${label}`].filter(Boolean).join(', ')})`, () => {
			const next = new Set(pressed);
			if (on) next.delete(label);
			else next.add(label);
			apply({label: [...next].join(',')});
		});
	}

	function rangeBar(bin, most) {
		const name = bin.first === bin.last ? short(bin.first) : `${short(bin.first)} … ${short(bin.last)}`;
		const {where} = place, and = where && (/\bor\b/.test(where) ? `(${where})` : where);
		return barOf(name, bin, most, where === bin.where, bin.where ? `Filters by ${bin.where}` : name, bin.where && (() => apply({where: and ? `${and} and ${bin.where}` : bin.where})));
	}

	function barOf(name, bin, most, on, title, click) {
		const inside = bar(name, bin.num_records, most);
		return h('li', click ? button(inside, title, click, {ariaPressed: String(on), class: 'bar-of'}) : h('div.bar-of', {title}, inside));
	}

	return {element, show, stop: asked.stop};
}
