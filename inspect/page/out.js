// Records as a list: those that were ticked, or all of a choice; and records ticked by a list.
import {ask, choiceOf, LIMITS, lines, query, set, splitOf, toGrid} from './addresses.js';
import {button, choose, counted, h, problem, put, showDialog} from './elements.js';
import * as ticks from './ticks.js';

const MAX_ADDRESS = 12_000;  // of the 16 KiB that a request may have

export function showOut(place) {
	const says = h('p.help', {role: 'status'});
	const ticked = h('section');
	const pasted = h('section');
	const chosen = h('section');
	const tell = error => put(says, problem(error));
	showDialog('A list of records', ticked, pasted, chosen, says,
		h('p.help', 'Numbers are for ', h('code', `ffinspect export ${set.path} OUT --split ${place.split} --indices FILE`), ' and ', h('code', 'ds.subset(numbers)'), '; ids for ', h('code', 'ffconvert … --only FILE'), ' and ', h('code', 'ffconvert remove'), '.'));

	function showTicked() {
		put(ticked, h('h3', 'Ticked'), !ticks.number() && h('p.help', 'Nothing is ticked. Space ticks the record in focus; a click with Shift ticks a range.'),
			ticks.splits().map(split => {
				const records = ticks.of(split);
				const numbers = () => records.map(record => `${record}\n`).join('');
				return h('div.row', h('span', `${split}: ${counted(records.length, 'record')}`),
					button('Show', 'Shows only these records', ({target}) => { target.closest('dialog').close(); location.hash = toGrid(split, {ticked: '1'}); }),
					button('Numbers', `Saves ${split}.txt`, () => save(`${split}.txt`, numbers())),
					button('Ids', `Saves ${split}-ids.txt`, () => saveIds(split, records).catch(tell)),
					button('Copy numbers', 'Copies the numbers', () => copy(numbers(), records.length)));
			}),
			ticks.number() > 0 && button('Remove all ticks', 'Removes the ticks of all records', () => { ticks.clear(); showTicked(); }, {class: 'quiet'}));
	}

	// All numbers of the served split, or null where they are those of its lines.
	const allNumbers = async split => splitOf(split).is_whole ? null : (await lines({split, as: 'numbers'})).map(Number);

	// One request, or the whole list of the split where the numbers do not fit into an address.
	async function saveIds(split, records) {
		const asked = ticks.ranges(records);
		let ids;
		if (asked.length < MAX_ADDRESS) ids = await lines({split, records: asked, as: 'ids'});
		else {
			const wanted = new Set(records), numbers = await allNumbers(split);
			ids = (await lines({split, as: 'ids'})).filter((_, line) => wanted.has(numbers ? numbers[line] : line));
		}
		const there = ids.filter(Boolean), missing = records.length - there.length;
		says.textContent = missing ? `${counted(missing, 'record has', 'records have')} no id; save the numbers instead.` : '';
		if (there.length) save(`${split}-ids.txt`, there.map(id => `${id}\n`).join(''));
	}

	function showPasted() {
		let kind = '';
		const area = h('textarea', {rows: 2, spellcheck: false, ariaLabel: 'Numbers or ids of records', placeholder: 'Numbers or ids, one per line'});
		put(pasted, h('details', h('summary', 'Tick by a list'), area,
			h('div.row', choose('Type of the lines', [['', 'numbers, or else ids'], ['numbers', 'numbers'], ['ids', 'ids']], kind, value => { kind = value; }),
				button('Tick', `Ticks these records of ${place.split}`, () => take(area.value, kind).catch(tell)))));
	}

	async function take(text, kind) {
		const {split} = place, listed = text.split('\n').map(line => line.trim()).filter(Boolean);
		const words = listed.map(line => line.replace(/#.*/, '')).join(' ').split(/[\s,]+/).filter(Boolean);
		let found, missing;
		if (kind === 'numbers' || !kind && words.every(word => /^\d+$/.test(word))) {
			const known = await allNumbers(split), all = known && new Set(known);
			const isThere = word => /^\d+$/.test(word) && (all ? all.has(Number(word)) : Number(word) < splitOf(split).num_records);
			found = words.filter(isThere).map(Number);
			missing = words.filter(word => !isThere(word));
		} else {
			const numbers = await allNumbers(split), of = new Map();
			for (const [line, id] of (await lines({split, as: 'ids'})).entries()) of.set(id, [...of.get(id) ?? [], numbers ? numbers[line] : line]);
			found = listed.flatMap(id => of.get(id) ?? []);
			missing = listed.filter(id => !of.has(id));
		}
		ticks.change(split, found, true);
		showTicked();
		says.textContent = `${counted(new Set(found).size, 'record')} ticked.${missing.length ? ` ${split} has no ${missing.slice(0, 3).join(', ')}${missing.length > 3 ? ` and ${missing.length - 3} more` : ''}.` : ''}`;
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
		if (place.ticked) return;
		const choice = choiceOf(place);
		const {num_records: number} = await ask('api/find', choice);
		const link = (as, text, end) => h('a.button', {href: `list?${query({...choice, as})}`, download: `${place.split}${end}`}, text);
		put(chosen, h('h3', LIMITS.some(name => place[name]) ? 'All filtered records' : `All of ${place.split}`), h('div.row', h('span', counted(number, 'record')),
			link('numbers', 'Numbers', '.txt'), link('ids', 'Ids', '-ids.txt'), link('json', 'JSON', '.json'),
			button('Tick all', 'Ticks all of these', () => lines({...choice, as: 'numbers'}).then(numbers => { ticks.change(place.split, numbers.map(Number), true); showTicked(); }, tell))));
	}

	showTicked();
	showPasted();
	showChosen().catch(error => put(chosen, problem(error)));
}
