// Records that were ticked, by split: numbers alone, however many. The browser keeps them for this
// data set, also when the tab is closed.
import {set} from './addresses.js';
import {counted, say, settled, stored} from './elements.js';

const ticked = new Map();  // split → Set of numbers
const listeners = new Set();

const keyOf = split => `ffinspect ticks ${set.path} ${split.name} ${split.fingerprint}`;

// "1,5,9-12" of ascending numbers, as the server takes them.
export function ranges(numbers) {
	const parts = [];
	for (let i = 0, begin = 0; i < numbers.length; ++i) {
		if (numbers[i + 1] === numbers[i] + 1) continue;
		parts.push(begin === i ? numbers[i] : `${numbers[begin]}-${numbers[i]}`);
		begin = i + 1;
	}
	return parts.join();
}

function numbersIn(text) {
	const numbers = new Set();
	for (const part of text ? text.split(',') : []) {
		const [first, last = first] = part.split('-').map(Number);
		for (let number = first; number <= last; ++number) numbers.add(number);
	}
	return numbers;
}

function load() {
	for (const split of set.splits) ticked.set(split.name, numbersIn(stored('localStorage', keyOf(split))));
}

function keep() {
	for (const split of set.splits) {
		const text = ranges(of(split.name));
		if (stored('localStorage', keyOf(split), text) !== text) say('The browser cannot store the ticks: its storage is full or not allowed.');
	}
}

const keepSoon = settled(300, keep);
addEventListener('pagehide', keep);
addEventListener('storage', event => {
	if (!event.key?.startsWith('ffinspect ticks')) return;
	load();
	for (const listener of listeners) listener();
});
load();

function changed() {
	keepSoon();
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
// Numbers, ascending.
export const of = split => [...ticked.get(split) ?? []].sort((a, b) => a - b);

export function change(split, records, on) {
	const all = ticked.get(split);
	for (const record of records) {
		if (on) all.add(record);
		else all.delete(record);
	}
	changed();
}

// Ticks a record, or takes its tick away.
export const turn = (split, record) => change(split, [record], !has(split, record));

export function clear() {
	for (const records of ticked.values()) records.clear();
	changed();
}
