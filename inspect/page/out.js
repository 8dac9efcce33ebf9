// Records as a list: those that were ticked, or all of a choice.
import {ask, choiceOf, LIMITS, query, set} from './addresses.js';
import {button, counted, h, problem, put, showDialog} from './elements.js';
import * as ticks from './ticks.js';

export function showOut(place) {
	const says = h('p.help', {role: 'status'});
	const ticked = h('section');
	const chosen = h('section');
	showDialog('A list of records', ticked, chosen, says,
		h('p.help', 'Numbers are for ', h('code', `ffinspect export ${set.path} OUT --split ${place.split} --indices FILE`), ' and ', h('code', 'ds.subset(numbers)'), '; ids for ', h('code', 'ffconvert … --only FILE'), '.'));

	function showTicked() {
		put(ticked, h('h3', 'Ticked'), !ticks.number() && h('p.help', 'Nothing is ticked. Space ticks the record in focus; a click with Shift ticks a range.'),
			ticks.splits().map(split => {
				const records = ticks.of(split);
				const numbers = () => records.map(([record]) => `${record}\n`).join('');
				return h('div.row', h('span', `${split}: ${counted(records.length, 'record')}`),
					button('Numbers', `Saves ${split}.txt`, () => save(`${split}.txt`, numbers())),
					button('Ids', `Saves ${split}-ids.txt`, () => saveIds(split, records)),
					button('Copy numbers', 'Copies the numbers', () => copy(numbers(), records.length)));
			}),
			ticks.number() > 0 && button('Remove all ticks', 'Nothing is ticked then', () => { ticks.clear(); showTicked(); }, {class: 'quiet'}));
	}

	// Ids of records that were not in a row of the grid when they were ticked are asked for.
	async function saveIds(split, records) {
		try {
			const ids = (await Promise.all(records.map(async ([record, id]) => id ?? (await ask('api/record', {split, record})).id))).filter(Boolean);
			const missing = records.length - ids.length;
			if (missing) says.textContent = `${counted(missing, 'record has', 'records have')} no id; the numbers say which they are.`;
			if (ids.length) save(`${split}-ids.txt`, ids.map(id => `${id}\n`).join(''));
		} catch (error) {
			put(says, problem(error));
		}
	}

	function save(name, text) {
		const link = h('a', {href: URL.createObjectURL(new Blob([text], {type: 'text/plain'})), download: name});
		link.click();
		setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
	}

	async function copy(text, number) {
		try {
			await navigator.clipboard.writeText(text);
			says.textContent = `${counted(number, 'number')} copied.`;
		} catch {
			says.textContent = 'The browser does not allow copying here; save the numbers instead.';
		}
	}

	async function showChosen() {
		const choice = choiceOf(place);
		const {num_records: number} = await ask('api/find', choice);
		const link = (as, text, end) => h('a.button', {href: `list?${query({...choice, as})}`, download: `${place.split}${end}`}, text);
		put(chosen, h('h3', LIMITS.some(name => place[name]) ? 'All of the choice' : `All of ${place.split}`), h('div.row', h('span', counted(number, 'record')),
			link('numbers', 'Numbers', '.txt'), link('ids', 'Ids', '-ids.txt'), link('json', 'JSON', '.json')));
	}

	showTicked();
	showChosen().catch(error => put(chosen, problem(error)));
}
