// Predictions beside the truth: the confusion matrix, whose cells lead to their records.
import {ask, latest, set, toGrid, worstFirst} from './addresses.js';
import {bar, count, counted, h, instead, percent, problem, put} from './elements.js';

const MAX_TABLE = 40;   // classes of a table; of more, the most frequent mistakes are listed
const MAX_LIST = 200;
const OTHER = -1;  // a class that the set does not know

export function confusionView(place) {
	const element = h('article.confusion');
	const asked = latest(error => put(element, problem(error)));

	const begin = () => asked.run(async signal => {
		const answer = await ask('api/confusion', {split: place.split}, {signal});
		const {classes, cells, num_found: all, num_right: right, num_unlabelled: unlabelled} = answer;
		const there = [...new Set(cells.flatMap(([truth, found]) => [truth, found]))].sort((a, b) => a - b);
		const used = classes.length <= MAX_TABLE ? classes.map((_, label) => label) : there.filter(label => label >= 0);
		if (there.includes(OTHER)) used.push(OTHER);
		put(element, h('div.record-head', h('h1', 'Predictions'), h('span.help', set.results?.file ?? '')),
			h('p.lead', h('strong', answer.accuracy === null ? '–' : percent(answer.accuracy)), ` right of ${counted(all - unlabelled, 'record')} with a result${unlabelled ? `; ${counted(unlabelled, 'more result')} of records whose class is not known` : ''}.`),
			answer.note && h('p.note-line', `${answer.note}.`),
			h('nav.row', {ariaLabel: 'Records by their result'}, link(`Wrong, worst first · ${count(all - unlabelled - right)}`, {only: 'wrong', ...worstFirst(place.split)}),
				link('Wrong and sure', {only: 'sure', ...worstFirst(place.split)}), link(`Right · ${count(right)}`, {only: 'right'})),
			await compared(signal),
			used.length <= MAX_TABLE ? table(answer, used) : list(answer));
	});

	const link = (text, values) => h('a.button', {href: toGrid(place.split, values)}, text);

	// Two results side by side: who is right where the other is wrong.
	async function compared(signal) {
		if (!set.results.other) return null;
		const number = async (only, text) => link(`${text} · ${count((await ask('api/find', {split: place.split, only}, {signal})).num_records)}`, {only});
		const [first, second] = [set.results.file, set.results.other].map(file => file.split('/').pop());
		return [h('h2', `${first} and ${second}`), h('nav.row', {ariaLabel: 'Two results side by side'}, await Promise.all([number('both', 'Both right'), number('first', `Only ${first} right`), number('second', `Only ${second} right`), number('neither', 'Both wrong')]))];
	}

	const nameIn = classes => label => label === OTHER ? 'other' : classes[label]?.name ?? String(label);

	function table({classes, cells}, shown) {
		const of = new Map(cells.map(([truth, found, number]) => [`${truth} ${found}`, number]));
		const sums = new Map(shown.map(truth => [truth, shown.reduce((sum, found) => sum + (of.get(`${truth} ${found}`) ?? 0), 0)]));
		const name = nameIn(classes);
		return [h('p.help', 'Rows are the true classes, columns the predicted classes. A click on a cell shows its records; its colour shows its share of the row.'),
			h('div.matrix-place', {tabIndex: 0, role: 'region', ariaLabel: 'Confusion matrix'}, h('table.matrix',
			h('thead', h('tr', h('th', {scope: 'col'}, 'truth'), shown.map(found => h('th', {scope: 'col', class: 'turned', title: name(found)}, h('span', h('bdi', name(found))))), h('th', {scope: 'col'}, 'right'))),
			h('tbody', shown.map(truth => h('tr', h('th', {scope: 'row'}, h('a', {href: toGrid(place.split, {truth})}, h('bdi', name(truth)))),
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
		const name = nameIn(classes);
		const mistakes = cells.filter(([truth, found]) => truth !== found).sort((a, b) => b[2] - a[2]);
		const most = mistakes[0]?.[2] ?? 1;
		return [h('h2', 'Most frequent mistakes'), mistakes.length > MAX_LIST && h('p.help', `The first ${MAX_LIST} of ${count(mistakes.length)} pairs of classes.`),
			h('ul.bars.mistakes', mistakes.slice(0, MAX_LIST).map(([truth, found, number]) => h('li', h('a.bar-of', {href: toGrid(place.split, {truth, found})}, bar(instead(name(truth), name(found)), number, most)))))];
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
