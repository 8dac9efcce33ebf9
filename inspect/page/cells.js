// The cells of the grid: a few hundred nodes that show other records as the reader scrolls.
import {address, failed, foundName, splitOf, write} from './addresses.js';
import {bytes, count, h, instead, put, short} from './elements.js';
import * as ticks from './ticks.js';

// Pictures are asked for in a few sizes, so that zooming in a little finds them in the cache.
const SIZES = [96, 160, 240, 320, 480, 640, 1024];

export function sizeFor(pixels) {
	const wanted = pixels * Math.min(devicePixelRatio, 2);
	return SIZES.find(size => size >= wanted * 0.9) ?? 1024;
}

// The address of a record's thumbnail. `shown` has marks and mask, as the place has them.
export function thumbnail(split, record, size, shown = {}) {
	const marks = splitOf(split).has_marks && shown.marks !== '0';
	return address('thumbnail', {split, record, size, field: shown.field, marks, mask: shown.mask});
}

// A small picture; of one that is broken the reason is its title.
export function picture(split, record, size) {
	const image = h('img', {src: thumbnail(split, record, size), alt: '', loading: 'lazy', onerror: () => failed(image, title => image.replaceWith(h('span.why-small', {title}, 'broken')))});
	return image;
}

// One of several small pictures, with words below it.
export const smallPicture = ({split, record}, ...words) => h('li', h('a', {href: write({view: 'record', split, record})}, splitOf(split).pictures.length > 0 && picture(split, record, 160), words.map(word => word && h('span', word))));

export class Cell {
	// `columns`: names, where there are no pictures.
	constructor(number, withPicture, columns = []) {
		this.columns = columns.map(name => [name, h('span')]);
		this.image = h('img', {alt: '', draggable: false, onload: () => this.element.classList.toggle('shown', this.source !== ''), onerror: () => this.broken()});
		this.why = h('span.why');
		this.tick = h('span.tick');
		this.name = h('span.name');
		this.value = h('span.value');
		this.element = h(withPicture ? 'div.cell' : 'div.cell.textual', {role: 'option', id: `cell-${number}`, hidden: true},
			withPicture && this.image, this.why, h('div.caption', this.name, this.columns.map(([, span]) => span), !columns.length && this.value), this.tick);
		this.take(-1, 0);
	}

	// Takes a position; -1: none. The picture comes later, by load(). Without a source the browser
	// gives up a request that runs.
	take(position, length) {
		this.position = position;
		this.record = null;
		this.image.removeAttribute('src');
		this.source = '';
		this.why.textContent = '';
		this.element.classList.remove('shown', 'broken');
		this.element.hidden = position < 0;
		this.element.ariaPosInSet = position + 1;
		this.element.ariaSetSize = length;
	}

	leave() {
		if (this.position >= 0) this.take(-1, 0);
	}

	load(source) {
		this.source = this.image.src = source;
		if (this.image.complete && this.image.naturalWidth) this.element.classList.add('shown');
	}

	broken() {
		failed(this.image, reason => {
			this.element.classList.add('broken');
			this.why.textContent = reason;
			this.element.ariaLabel += `: ${reason}`;
		});
	}

	// Says what is known of the record: `row` may be missing yet.
	describe(record, row, split, sort) {
		this.record = record;
		const name = row?.class_name ?? row?.class ?? row?.id ?? '';
		const wrong = row?.is_right === false && row.found_name !== null;
		const found = wrong ? foundName(split, row) : '';
		put(this.name, this.columns.length ? count(record) : wrong ? instead(name, found) : h('bdi', name || count(record)));
		for (const [column, span] of this.columns) span.textContent = row?.columns?.[column] ?? '';
		if (row?.problem && this.columns.length) this.columns[0][1].textContent = row.problem;
		this.value.textContent = row ? valueOf(row, sort) : '';
		this.element.classList.toggle('wrong', wrong);
		this.element.title = [row?.id, `record ${record}`, name].filter(Boolean).join(' · ');
		this.element.ariaLabel = `Record ${record}${name && ', ' + name}${wrong ? `, found ${found}` : ''}`;
		this.mark(split);
	}

	mark(split) {
		this.element.ariaSelected = this.element.classList.toggle('ticked', ticks.has(split, this.record));
	}
}

// What sorts, or the score of a result.
function valueOf(row, sort) {
	if (sort === 'size') return bytes(row.num_bytes);
	const value = sort && sort !== 'record' ? row.value : row.score;
	return short(value ?? '');
}
