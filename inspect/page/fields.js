// What is known of a record, as tables: facts, fields, pictures with EXIF, duplicates.
import {smallPicture} from './cells.js';
import {bytes, count, h} from './elements.js';

const MAX_TEXT = 2000;

export function fieldTable(record) {
	return [
		section('Record', pairs([['number', count(record.record)], ['id', record.id], ['label', record.label], ['class', record.class], ['name', record.class_name],
			['size', bytes(record.num_bytes)], ['shard', record.shard]])),
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
	return h('dl.pairs', list.filter(([, what]) => what !== null && what !== undefined && what !== '').map(([name, what]) => [h('dt', name), h('dd', String(what))]));
}

// Browsers would turn a picture by EXIF; this page shows it as a loader reads it.
function exif(picture) {
	const names = Object.entries(picture.exif ?? {});
	if (!names.length) return null;
	return h('details', {open: names.length < 6}, h('summary', 'EXIF'), pairs(names), picture.orientation > 1 && h('p.help', 'Shown as it is stored, not turned by EXIF, as a loader reads it.'));
}

// A field's value in words. Words that were cut are followed by what else came of the value.
function value({text, value: what}) {
	if (what === null) return h('span.help', 'null');
	const all = /\.\.\.$|…$/.test(text) && typeof what === 'object' ? JSON.stringify(what.values ?? what).replaceAll(',', ', ') : text;
	const cut = all.length > MAX_TEXT ? `${all.slice(0, MAX_TEXT)} … and ${count(all.length - MAX_TEXT)} more characters` : all;
	return cut.length > 160 || cut.includes('\n') ? h('pre', {tabIndex: 0}, cut) : h('code', cut);
}
