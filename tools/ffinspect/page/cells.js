// The cells of the grid: a few hundred nodes that show other records as the reader scrolls.
import {address, reasonOf, splitOf} from './api.js';
import {h, short, count} from './elements.js';
import * as ticks from './ticks.js';

// Pictures are asked for in a few sizes, so that zooming in a little finds them in the cache.
const SIZES = [96, 160, 240, 320, 480, 640, 1024];

export function sizeFor(pixels) {
	const wanted = pixels * Math.min(devicePixelRatio, 2);
	return SIZES.find(size => size >= wanted * 0.9) ?? 1024;
}

// The address of a record's thumbnail. `shown` has marks and mask, as the place has them.
export function thumbnail(split, record, size, shown = {}) {
	const {has_boxes, has_joints} = splitOf(split);
	const marks = has_boxes || has_joints ? shown.marks !== '0' : false;
	return address('thumbnail', {split, record, size, field: shown.field, marks, mask: shown.mask});
}

// A small picture; of one that is broken the reason is its title.
export function picture(split, record, size) {
	const image = h('img', {src: thumbnail(split, record, size), alt: '', loading: 'lazy', onerror: async () => {
		image.replaceWith(h('span.why-small', {title: await reasonOf(image.src)}, 'broken'));
	}});
	return image;
}

export class Cell {
	constructor(number, withPicture) {
		this.image = h('img', {alt: '', draggable: false, onload: () => this.loaded(), onerror: () => this.broken()});
		this.why = h('span.why');
		this.tick = h('span.tick');
		this.name = h('span.name');
		this.value = h('span.value');
		this.caption = h('div.caption', this.name, this.value);
		this.element = h(withPicture ? 'div.cell' : 'div.cell.textual', {role: 'option', id: `cell-${number}`, hidden: true},
			withPicture && this.image, this.why, this.caption, this.tick);
		this.position = -1;
		this.record = null;
		this.source = '';
	}

	// Takes a position. The picture comes later, by load().
	take(position, length) {
		this.position = position;
		this.record = null;
		this.unload();
		this.element.hidden = false;
		this.element.setAttribute('aria-posinset', position + 1);
		this.element.setAttribute('aria-setsize', length);
	}

	leave() {
		if (this.position < 0) return;
		this.position = -1;
		this.record = null;
		this.unload();
		this.element.hidden = true;
	}

	// Without a source the browser gives up a request that runs.
	unload() {
		this.image.removeAttribute('src');
		this.source = '';
		this.why.textContent = '';
		this.element.classList.remove('shown', 'broken');
	}

	load(source) {
		if (this.source === source) return;
		this.source = source;
		this.image.src = source;
	}

	loaded() {
		if (this.source) this.element.classList.add('shown');
	}

	async broken() {
		const source = this.source;
		if (!source) return;
		const reason = await reasonOf(source);
		if (source !== this.source) return;
		this.element.classList.add('broken');
		this.why.textContent = reason;
		this.element.setAttribute('aria-label', `${this.label}: ${reason}`);
	}

	// Says what is known of the record: `row` may be missing yet.
	describe(record, row, split, sort) {
		this.record = record;
		const name = row ? row.class_name ?? row.class ?? row.id ?? '' : '';
		const wrong = row && row.found !== null && row.label !== null && row.found !== row.label;
		this.name.textContent = wrong ? `${name} → ${row.found_name ?? row.found}` : name || `${count(record)}`;
		this.value.textContent = row ? valueOf(row, sort) : '';
		this.element.classList.toggle('wrong', Boolean(wrong));
		this.element.title = row ? [row.id, `record ${record}`, name].filter(Boolean).join(' · ') : `record ${record}`;
		this.label = `Record ${record}${name && ', ' + name}${wrong ? `, found ${row.found_name ?? row.found}` : ''}`;
		this.element.setAttribute('aria-label', this.label);
		this.mark(split);
	}

	mark(split) {
		const ticked = ticks.has(split, this.record);
		this.element.setAttribute('aria-selected', ticked);
		this.element.classList.toggle('ticked', ticked);
	}
}

function valueOf(row, sort) {
	if (sort && sort !== 'record' && row.value !== null && row.value !== undefined)
		return typeof row.value === 'number' ? short(row.value) : String(row.value);
	return row.score !== null && row.score !== undefined ? short(row.score) : '';
}
