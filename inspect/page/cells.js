// The cells of the grid: a few hundred nodes that show other records as the reader scrolls.
import {address, foundName, reasonOf, splitOf, write} from './addresses.js';
import {bytes, count, h, short} from './elements.js';
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
	const image = h('img', {src: thumbnail(split, record, size), alt: '', loading: 'lazy', onerror: async () => {
		image.replaceWith(h('span.why-small', {title: await reasonOf(image.src)}, 'broken'));
	}});
	return image;
}

// One of several small pictures, with words below it.
export const smallPicture = ({split, record}, ...words) => h('li', h('a', {href: write({view: 'record', split, record})}, picture(split, record, 160), words.map(word => word && h('span', word))));

export class Cell {
	constructor(number, withPicture) {
		this.image = h('img', {alt: '', draggable: false, onload: () => this.element.classList.toggle('shown', this.source !== ''), onerror: () => this.broken()});
		this.why = h('span.why');
		this.tick = h('span.tick');
		this.name = h('span.name');
		this.value = h('span.value');
		this.element = h(withPicture ? 'div.cell' : 'div.cell.textual', {role: 'option', id: `cell-${number}`, hidden: true},
			withPicture && this.image, this.why, h('div.caption', this.name, this.value), this.tick);
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

	async broken() {
		const source = this.source;
		if (!source) return;
		const reason = await reasonOf(source);
		if (source !== this.source) return;
		this.element.classList.add('broken');
		this.why.textContent = reason;
		this.element.ariaLabel += `: ${reason}`;
	}

	// Says what is known of the record: `row` may be missing yet.
	describe(record, row, split, sort) {
		this.record = record;
		const name = row?.class_name ?? row?.class ?? row?.id ?? '';
		const wrong = row?.is_right === false && row.found !== null;
		const found = wrong ? foundName(split, row) : '';
		this.name.textContent = wrong ? `${name} → ${found}` : name || count(record);
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
	return Number.isFinite(value) ? short(value) : value ?? '';
}
