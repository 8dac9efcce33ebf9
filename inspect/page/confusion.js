// Predictions beside the truth: the confusion matrix, whose cells lead to their records.
import {ask, latest, set, toGrid, worstFirst} from './addresses.js';
import {bar, count, counted, h, percent, problem, put} from './elements.js';

const MAX_TABLE = 40;   // classes of a table; of more, the most frequent mistakes are listed
const MAX_LIST = 200;

export function confusionView(place) {
	const element = h('article.confusion');
	const asked = latest(error => put(element, problem(error)));

	const begin = () => asked.run(async signal => {
		const answer = await ask('api/confusion', {split: place.split}, {signal});
		const {classes, cells, accuracy} = answer;
		const sum = of => of.reduce((total, cell) => total + cell[2], 0);
		const used = classes.length <= MAX_TABLE ? classes.map((_, label) => label) : [...new Set(cells.flatMap(([truth, found]) => [truth, found]))].sort((a, b) => a - b);
		put(element, h('div.record-head', h('h1', 'Predictions'), h('span.help', set.results?.file ?? '')),
			h('p.lead', h('strong', percent(accuracy)), ` right of ${counted(sum(cells), 'record')} with a result.`),
			h('nav.row', {ariaLabel: 'Records by their result'}, link(`Wrong, worst first · ${count(sum(cells.filter(([truth, found]) => truth !== found)))}`, {only: 'wrong', ...worstFirst(place.split)}),
				link('Wrong and sure', {only: 'sure', ...worstFirst(place.split)}), link('Right', {only: 'right'})),
			used.length <= MAX_TABLE ? table(answer, used) : list(answer));
	});

	const link = (text, values) => h('a.button', {href: toGrid(place.split, {...values})}, text);

	function table({classes, cells}, shown) {
		const of = new Map(cells.map(([truth, found, number]) => [`${truth} ${found}`, number]));
		const sums = new Map(shown.map(truth => [truth, shown.reduce((sum, found) => sum + (of.get(`${truth} ${found}`) ?? 0), 0)]));
		const name = label => classes[label]?.name ?? String(label);
		return [h('p.help', 'Rows are the truth, columns what was found. A cell leads to its records; its colour is its share of the row.'),
			h('div.matrix-place', {tabIndex: 0, role: 'region', ariaLabel: 'Confusion matrix'}, h('table.matrix',
			h('thead', h('tr', h('th', {scope: 'col'}, 'truth'), shown.map(found => h('th', {scope: 'col', class: 'turned', title: name(found)}, h('span', name(found)))), h('th', {scope: 'col'}, 'right'))),
			h('tbody', shown.map(truth => h('tr', h('th', {scope: 'row'}, h('a', {href: toGrid(place.split, {label: truth})}, name(truth))),
				shown.map(found => cell(truth, found, of.get(`${truth} ${found}`) ?? 0, sums.get(truth), name)),
				h('td.share', sums.get(truth) ? percent((of.get(`${truth} ${truth}`) ?? 0) / sums.get(truth)) : '–'))))))];
	}

	function cell(truth, found, number, sum, name) {
		if (!number) return h('td');
		const element = h(truth === found ? 'td.right' : 'td', h('a', {href: toGrid(place.split, {truth, found}),
			ariaLabel: `${counted(number, 'record')} of ${name(truth)}, found as ${name(found)}`}, count(number)));
		element.style.setProperty('--share', Math.sqrt(number / sum));  // few mistakes are seen, too
		return element;
	}

	function list({classes, cells}) {
		const name = label => classes[label]?.name ?? String(label);
		const mistakes = cells.filter(([truth, found]) => truth !== found).sort((a, b) => b[2] - a[2]);
		const most = mistakes[0]?.[2] ?? 1;
		return [h('h2', 'Most frequent mistakes'), mistakes.length > MAX_LIST && h('p.help', `The first ${MAX_LIST} of ${count(mistakes.length)} pairs of classes.`),
			h('ul.bars.mistakes', mistakes.slice(0, MAX_LIST).map(([truth, found, number]) => h('li', h('a.bar-of', {href: toGrid(place.split, {truth, found})}, bar(`${name(truth)} → ${name(found)}`, number, most)))))];
	}

	begin();
	return {
		element, keys: [],
		title: () => 'Predictions',
		update(next) {
			if (next.split !== place.split) {
				place = next;
				begin();
			}
			return true;
		},
		leave: asked.stop,
	};
}
