// The records before and after one in its choice, as a strip.
import {ask, splitOf} from './api.js';
import {choiceOf, write} from './address.js';
import {picture} from './cells.js';
import {count, h, put} from './elements.js';

const BEFORE = 8, AFTER = 15;

export function neighbours() {
	const strip = h('nav.strip', {ariaLabel: 'Neighbours in the choice'});
	return {
		element: strip,
		found: {},  // what api/position answered
		async show(place, signal) {
			this.found = await ask('api/position', {...choiceOf(place), record: place.record}, {signal});
			const {position} = this.found;
			if (position === null) return put(strip, h('p.help', 'This record is not in the choice.'));
			const from = Math.max(0, position - BEFORE);
			const {rows} = await ask('api/rows', {...choiceOf(place), from, count: BEFORE + AFTER + 1}, {signal});
			const shown = splitOf(place.split).pictures.length > 0;
			put(strip, rows.map(row => h('a', {href: write({...place, record: row.record}), title: [row.id, row.class_name].filter(Boolean).join(' · '), ariaLabel: `Record ${row.record}`,
				ariaCurrent: row.record === Number(place.record) ? 'true' : null}, shown ? picture(place.split, row.record, 96) : h('span', count(row.record)))));
		},
	};
}
