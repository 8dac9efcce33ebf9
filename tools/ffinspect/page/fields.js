// What is known of a record, as tables: facts, fields, pictures with EXIF, duplicates.
import {write} from './address.js';
import {picture} from './cells.js';
import {bytes, count, h} from './elements.js';

const MAX_TEXT = 2000;

export function fieldTable(split, record) {
	return [
		section('Record', pairs([['number', count(record.record)], ['id', record.id], ['label', record.label], ['class', record.class], ['name', record.class_name],
			['size', bytes(record.num_bytes)], ['shard', record.shard]])),
		record.pictures.map(one => section(record.pictures.length > 1 ? `Picture ${one.field}` : 'Picture',
			one.problem && h('p.problem', one.problem),
			pairs([['encoding', one.encoding], ['size', one.width && `${count(one.width)} × ${count(one.height)}`], ['bytes', one.num_bytes && bytes(one.num_bytes)]]),
			exif(one))),
		section('Fields', h('table.fields', record.fields.map(field => h('tr', h('th', {scope: 'row'}, field.name, h('span.help', field.text)), h('td', value(field.value)))))),
		record.duplicates.length > 0 && section('Duplicates', h('ul.small-pictures', record.duplicates.map(one =>
			h('li', h('a', {href: write({view: 'record', split: one.split, record: one.record})}, picture(one.split, one.record, 160),
				h('span', `${one.split === split ? '' : one.split + ' '}${count(one.record)}`), h('span.help', one.exact ? 'equal' : 'alike')))))),
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
	const turned = names.some(([name, what]) => /orientation/i.test(name) && String(what) !== '1');
	return h('details', {open: names.length < 6}, h('summary', 'EXIF'), pairs(names), turned && h('p.help', 'Shown as it is stored, not turned by EXIF, as a loader reads it.'));
}

function value(what) {
	if (what === null || what === undefined) return h('span.help', 'null');
	if (typeof what === 'number' || typeof what === 'boolean') return String(what);
	const text = typeof what === 'string' ? what : readable(what);
	const cut = text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)} … and ${count(text.length - MAX_TEXT)} more characters` : text;
	return cut.length > 160 || cut.includes('\n') ? h('pre', {tabIndex: 0}, cut) : h('code', cut);
}

// Objects a member a line.
function readable(what) {
	if (Array.isArray(what)) return JSON.stringify(what).replace(/,/g, ', ');
	return Object.entries(what).map(([name, one]) => `${name}: ${typeof one === 'string' ? one : JSON.stringify(one)?.replace(/,/g, ', ')}`).join('\n');
}
