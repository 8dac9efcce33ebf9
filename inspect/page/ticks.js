// Records that were ticked, by split, with their ids. They live as long as the tab does.
import {set} from './addresses.js';
import {counted, say, stored} from './elements.js';

const ticked = new Map();  // split → Map of record → id or null
const listeners = new Set();

const KEY = `ffinspect ticks ${set.path}`;
for (const [split, records] of JSON.parse(stored('sessionStorage', KEY) ?? '[]')) ticked.set(split, new Map(records));

function changed() {
	stored('sessionStorage', KEY, JSON.stringify([...ticked].map(([split, records]) => [split, [...records]])));
	for (const listener of listeners) listener();
	say(`${counted(number(), 'record')} ticked`);
}

// Calls the listener after each change; answers with what ends that.
export function listen(listener) {
	listeners.add(listener);
	return () => listeners.delete(listener);
}

export const has = (split, record) => ticked.get(split)?.has(record) ?? false;
export const number = () => [...ticked.values()].reduce((sum, records) => sum + records.size, 0);
export const splits = () => [...ticked].filter(([, records]) => records.size).map(([split]) => split);
// [[record, id]], by number.
export const of = split => [...ticked.get(split) ?? []].sort((a, b) => a[0] - b[0]);

export function change(split, records, on) {
	if (!ticked.has(split)) ticked.set(split, new Map());
	for (const {record, id} of records) {
		if (on) ticked.get(split).set(record, id ?? null);
		else ticked.get(split).delete(record);
	}
	changed();
}

// Ticks a record, or takes its tick away.
export function turn(split, record, id) {
	change(split, [{record, id}], !has(split, record));
}

export function clear() {
	ticked.clear();
	changed();
}
