// What is known of a record, as tables: facts, fields, pictures with EXIF, duplicates.
import {smallPicture} from './cells.js';
import {button, bytes, count, counted, h} from './elements.js';

const MAX_TEXT = 100_000;  // of which a browser draws no more at once

export function fieldTable(record) {
	return [
		section('Record', record.problem && h('p.problem', record.problem), pairs([['number', count(record.record)], ['id', record.id], ['label', record.label], ['class', record.class], ['name', record.class_name],
			['size', record.num_bytes !== null && bytes(record.num_bytes)], ['shard', record.shard]])),
		record.pictures.map(one => section(record.pictures.length > 1 ? `Picture ${one.field}` : 'Picture',
			one.problem && h('p.problem', one.problem),
			pairs([['encoding', one.encoding], ['size', one.width && `${count(one.width)} × ${count(one.height)}`], ['bytes', one.num_bytes && bytes(one.num_bytes)]]),
			exif(one))),
		section('Fields', h('table.fields', record.fields.map(field => h('tr', h('th', {scope: 'row'}, field.name, h('span.help', field.type)), h('td', value(field)))))),
		record.duplicates.length > 0 && section('Duplicates', h('ul.small-pictures', record.duplicates.map(one => smallPicture(one, `${one.split} ${count(one.record)}`, one.exact ? 'equal' : 'alike')))),
	];
}

const section = (name, ...inside) => h('section', h('h2', name), inside);

function pairs(list) {
	return h('dl.pairs', list.filter(([, what]) => what !== null && what !== undefined && what !== '' && what !== false).map(([name, what]) => [h('dt', name), h('dd', String(what))]));
}

// Browsers would turn a picture by EXIF; this page shows it as a loader reads it.
function exif(picture) {
	const names = Object.entries(picture.exif ?? {});
	if (!names.length) return null;
	return h('details', {open: names.length < 6}, h('summary', 'EXIF'), pairs(names), picture.orientation > 1 && h('p.help', 'Shown as it is stored; like a loader, this page does not turn it by EXIF.'));
}

// A field's value in words. Of a list that was cut, what came of it.
function value({text, value: what, problem, num_left_out: left}) {
	if (problem) return h('p.problem', problem);
	if (what === null) return h('span.help', 'null');
	const all = left ? `${JSON.stringify(what).slice(0, -1)}, … and ${counted(left, 'more item', 'more items')}]` : text;
	if (all.length < 160 && !all.includes('\n')) return h('code', all);
	const shown = h('pre', {tabIndex: 0}, all.slice(0, MAX_TEXT));
	const more = button(`${count(all.length - MAX_TEXT)} more characters`, 'Shows all of the text', () => { shown.textContent = all; more.remove(); });
	return [shown, all.length > MAX_TEXT && more];
}
