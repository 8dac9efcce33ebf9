// The grid: thumbnails of a choice of any length. A few hundred cells are moved about, and only
// those near the view have a picture or ask for one.
//
// Browsers limit the height of an element, so a long list is drawn in a lower one. `top` is the
// place in the whole list, in pixels; the scroll bar follows it.
import {ask, choiceOf, go, note, splitOf, write} from './addresses.js';
import {button, choose, count, counted, h, problem, put, settled, toggle} from './elements.js';
import {Cell, sizeFor, thumbnail} from './cells.js';
import {filterPanel} from './filter.js';
import {Rows} from './rows.js';
import * as ticks from './ticks.js';

const MAX_HEIGHT = 8_000_000;  // Firefox has 17.8 million, Chromium 33.5; float32 is exact to half a pixel here
const ZOOM = [56, 80, 108, 148, 200, 280, 400, 600];
const CAPTION = 22, GAP = 6, ROWS_BEYOND = 2, COLUMN = 120;

export function gridView(start) {
	let place = start, rows, cells = [], columns = 1, cellWidth = 0, rowHeight = 1, real = 0;
	let top = 0, offset = 0, lastScroll = 0, height = 0, width = 0, focus = 0, frame = 0, anchor = null, lastRow = 0;
	const spacer = h('div.spacer');
	const list = h('div.cells', {role: 'listbox', tabIndex: 0, 'aria-multiselectable': 'true', ariaLabel: 'Records', onscroll: scrolled,
		onclick: clicked, onfocus: () => showFocus()}, spacer);
	const counter = h('span.counter', {role: 'status'});
	const controls = h('div.controls');
	const empty = h('div.empty', {hidden: true});
	const head = h('div.caption.table-head', {hidden: true});
	const filter = filterPanel(place);
	const element = h('div.with-side', filter.element, h('section.grid', h('div.toolbar', counter, controls), empty, head, list));
	const quiet = settled(120, () => { align(); draw(true); remember(); });
	const watcher = new ResizeObserver(() => resized());
	const unlisten = ticks.listen(() => {
		if (place.ticked) begin();
		else cells.forEach(cell => cell.position >= 0 && cell.mark(place.split));
	});

	const split = () => splitOf(place.split);
	const length = () => rows.length ?? 0;
	const textual = () => !split().pictures.length;
	const zoom = () => ZOOM.find(size => size === Number(place.size)) ?? ZOOM.find(size => size >= (innerWidth < 600 ? 108 : innerWidth > 2200 ? 200 : 148));
	const lowered = () => real > MAX_HEIGHT;
	const slack = () => MAX_HEIGHT - height;
	const limit = () => Math.max(0, real - height);

	function begin() {
		rows?.stop();
		rows = new Rows(choiceOf(place), {
			arrived: (first, last) => {
				for (const cell of cells) if (cell.position >= first && cell.position < last) describe(cell);
				draw(true);
			},
			counted: () => { layout(); showCount(); },
			failed: tell,
		});
		focus = Math.max(0, Number(place.at) || 0);
		anchor = null;
		const {warnings} = split();
		put(empty, warnings.map(message => problem({message})));
		empty.hidden = !warnings.length;
		showControls();
		filter.show(place);
		showCount();
		top = 0;
		width = 0;
		if (list.isConnected) resized();
		if (rows.length === null) rows.want(focus, focus + 1);
	}

	function tell(error) {
		put(empty, problem(error));
		empty.hidden = false;
	}

	function resized() {
		if (list.clientWidth === width && list.clientHeight === height) return;
		const kept = rowHeight > 1 && width ? Math.floor(top / rowHeight) * columns : focus;
		width = list.clientWidth;
		height = list.clientHeight;
		layout(kept);
	}

	// Lays the cells out for the size of the list, with the position `kept` in the first row.
	function layout(kept = focus) {
		if (!width) return;
		const wide = textual() ? width - 2 * GAP : zoom();
		showHead();
		columns = Math.max(1, Math.floor((width - GAP) / (wide + GAP)));
		cellWidth = Math.floor((width - GAP) / columns) - GAP;
		rowHeight = (textual() ? 40 : cellWidth + CAPTION) + GAP;
		real = Math.ceil(length() / columns) * rowHeight + GAP;
		spacer.style.height = `${Math.min(real, MAX_HEIGHT)}px`;
		const needed = (Math.ceil(height / rowHeight) + 1 + 2 * ROWS_BEYOND) * columns;
		for (const cell of cells) cell.leave();
		if (textual() && cells[0]?.columns.length !== shownColumns().length) for (const cell of cells.splice(0)) cell.element.remove();
		while (cells.length < needed) {
			cells.push(new Cell(cells.length, !textual(), shownColumns()));
			spacer.append(cells.at(-1).element);
		}
		for (const cell of cells.splice(needed)) cell.element.remove();
		for (const cell of cells) {
			cell.element.style.width = `${cellWidth}px`;
			cell.element.style.height = `${rowHeight - GAP}px`;
		}
		focus = Math.min(focus, Math.max(0, length() - 1));
		moveTo(Math.floor(kept / columns) * rowHeight);
		draw(true);
		showFocus();
	}

	// The columns of a split without pictures, as many as there is room for.
	const named = () => split().fields.filter(field => field.column).map(field => field.name);
	const shownColumns = () => textual() ? named().slice(0, Math.max(1, Math.floor(width / COLUMN) - 1)) : [];

	function showHead() {
		head.hidden = !textual() || !named().length;
		const more = named().length - shownColumns().length;
		put(head, h('span.name', 'record', more > 0 && ` (${counted(more, 'more column')} in it)`), shownColumns().map(name => h('span', button(name, `Sorts by ${name}`, () => go({...place, at: '', sort: name}), {class: 'quiet'}))));
	}

	// Puts a place of the whole list at the top of the view.
	function moveTo(wanted) {
		top = Math.min(Math.max(0, wanted), limit());
		list.scrollTop = lowered() ? top / limit() * slack() : top;
		lastScroll = list.scrollTop;
		offset = lastScroll - top;
	}

	// The scroll bar follows the list where the two have drifted apart.
	function align() {
		if (lowered() && Math.abs(top / limit() * slack() - list.scrollTop) > 1) {
			moveTo(top);
			draw(true);
		}
	}

	function scrolled() {
		const now = list.scrollTop, step = now - lastScroll;
		if (!step) return;
		lastScroll = now;
		if (!lowered()) top = now;
		else if (Math.abs(step) < 2 * height) top = Math.min(Math.max(0, top + step), limit());
		else top = now / slack() * limit();
		offset = now - top;
		if (lowered() && (now <= 0 ? top > 0 : now >= slack() - 1 && top < limit() - 1)) align();
		if (!frame) frame = requestAnimationFrame(() => { frame = 0; draw(false); });
		quiet();
	}

	// Gives each position near the view its cell. While the list flies past, no picture is asked for.
	function draw(resting) {
		if (!width || rows.length === null) return;
		const row = Math.floor(top / rowHeight);
		const flying = !resting && Math.abs(row - lastRow) * rowHeight > height;
		lastRow = row;
		const seen = [row * columns, Math.ceil((top + height) / rowHeight) * columns];
		const first = Math.max(0, row - ROWS_BEYOND) * columns;
		const last = Math.min(length(), first + cells.length);
		for (let position = first; position < first + cells.length; ++position) {
			const cell = cells[position % cells.length];
			if (position >= last) {
				cell.leave();
				continue;
			}
			if (cell.position !== position) {
				cell.take(position, length());
				describe(cell);
				cell.element.classList.toggle('focused', position === focus);
			}
			const x = GAP + (position % columns) * (cellWidth + GAP);
			const y = GAP + Math.floor(position / columns) * rowHeight + offset;
			cell.element.style.transform = `translate(${x}px, ${y}px)`;
		}
		if (flying) return;
		rows.want(first, last - 1);
		if (textual()) return;
		// What is in view comes first.
		const isSeen = ({position}) => position >= seen[0] && position < seen[1];
		const bare = cells.filter(cell => cell.record !== null && !cell.source);
		for (const cell of [...bare.filter(isSeen), ...bare.filter(cell => !isSeen(cell))]) load(cell);
	}

	const load = cell => cell.load(thumbnail(place.split, cell.record, sizeFor(cellWidth), place));

	function describe(cell) {
		const record = rows.record(cell.position);
		if (record !== undefined) cell.describe(record, rows.at(cell.position), place.split, place.sort);
		else cell.name.textContent = '';
	}

	function showFocus() {
		list.removeAttribute('aria-activedescendant');
		for (const cell of cells) {
			const here = cell.position === focus;
			cell.element.classList.toggle('focused', here);
			if (here) list.setAttribute('aria-activedescendant', cell.element.id);
		}
	}

	function move(to) {
		if (!length()) return;
		focus = Math.min(Math.max(0, to), length() - 1);
		const begin = Math.floor(focus / columns) * rowHeight;
		if (begin < top) moveTo(begin);
		else if (begin + rowHeight + GAP > top + height) moveTo(begin + rowHeight + GAP - height);
		draw(false);
		showFocus();
		quiet();
	}

	// The place in the address: back from a record leads here again.
	function remember() {
		if (!element.isConnected) return;
		const row = Math.floor(focus / columns) * rowHeight;
		if (row + rowHeight <= top || row >= top + height) focus = Math.min(Math.ceil(top / rowHeight) * columns, Math.max(0, length() - 1));
		showFocus();
		noteFocus();
	}

	function noteFocus() {
		place = {...place, at: focus || ''};
		note(place);
	}

	function open(position) {
		const record = rows.record(position);
		if (record === undefined) return;
		focus = position;
		noteFocus();
		quiet.stop();
		go({...choiceOf(place), view: 'record', record, mask: place.mask});
	}

	async function tick(position, range) {
		const other = range && anchor !== null ? anchor : position;
		const from = Math.min(other, position), to = Math.max(other, position);
		const record = rows.record(position);
		if (record === undefined) return;
		const on = range || !ticks.has(place.split, record);
		anchor = position;
		let chosen = Array.from({length: to - from + 1}, (_, i) => rows.record(from + i));
		try {
			if (chosen.includes(undefined)) chosen = (await ask('list', {...choiceOf(place), as: 'json', from, count: chosen.length}, {keep: false})).records;
			ticks.change(place.split, chosen, on);
		} catch (error) {
			tell(error);
		}
	}

	function clicked(event) {
		const cell = cells.find(one => one.element.contains(event.target));
		if (!cell) return;
		focus = cell.position;
		showFocus();
		if (event.target === cell.tick || event.shiftKey || event.ctrlKey || event.metaKey) tick(focus, event.shiftKey);
		else open(focus);
	}

	function magnify(step) {
		place = {...place, size: ZOOM[ZOOM.indexOf(zoom()) + step] ?? zoom()};
		note(place);
		layout();
	}

	function showCount() {
		const total = split().num_records;
		counter.textContent = rows.length === null ? '…' : rows.whole ? counted(total, 'record') : `${count(length())} of ${count(total)}`;
		if (rows.unread) counter.textContent += `; ${counted(rows.unread, 'record')} could not be read`;
		if (rows.length === 0) {
			put(empty, h('p', rows.whole ? 'This split has no records.' : 'No record matches the filters.'),
				!rows.whole && button('Show all', 'Removes all filters', () => go({view: 'grid', split: place.split})));
			empty.hidden = false;
		}
	}

	function showControls() {
		const {has_marks, masks, orders, pictures} = split();
		const change = values => go({...place, at: '', ...values});
		const named = names => names.map(name => [name, name]);
		put(controls,
			!place.ticked && choose('Sort by', orders.map(order => [order, order === 'record' ? 'in order' : `by ${order}`]), place.sort || 'record', sort => change({sort: sort === 'record' ? '' : sort})),
			toggle(place.descending ? '↓' : '↑', 'Largest first', Boolean(place.descending), on => change({descending: on})),
			pictures.length > 1 && choose('Picture', named(pictures), place.field || pictures[0], field => change({field})),
			has_marks && toggle('Marks', 'Boxes and joints on the thumbnails', place.marks !== '0', on => change({marks: on ? '' : '0'})),
			masks.length > 0 && choose('Mask', [['', 'no mask'], ...named(masks)], place.mask || '', mask => change({mask})),
			pictures.length > 0 && [button('−', 'Smaller thumbnails (−)', () => magnify(-1)), button('+', 'Larger thumbnails (+)', () => magnify(1))]);
	}

	const page = () => Math.max(1, Math.floor(height / rowHeight)) * columns;
	const keys = [
		['ArrowRight', 'next record', () => move(focus + 1)],
		['ArrowLeft', 'record before', () => move(focus - 1)],
		['ArrowDown', 'row below', () => move(focus + columns < length() ? focus + columns : focus)],
		['ArrowUp', 'row above', () => move(focus - columns >= 0 ? focus - columns : focus)],
		['PageDown', 'page below', () => move(focus + page())],
		['PageUp', 'page above', () => move(focus - page())],
		['Home', 'first record', () => move(0)],
		['End', 'last record', () => move(length() - 1)],
		['Enter', 'open the record', () => open(focus)],
		['Space', 'tick the record', event => tick(focus, event.shiftKey)],
		['+ =', 'larger thumbnails', () => magnify(1)],
		['-', 'smaller thumbnails', () => magnify(-1)],
		['/', 'search for text', () => filter.search()],
		['w', 'write a filter', () => filter.where()],
		['Escape', 'back to the grid from a field', () => list.focus(), true],
	];

	begin();
	return {
		element, keys,
		title: () => place.split,
		shown() {
			watcher.observe(list);
			resized();
			list.focus({preventScroll: true});
		},
		update(next) {
			if (next.split !== place.split) return false;
			if (write(next) === write(place)) return true;
			place = next;
			begin();
			return true;
		},
		leave() {
			rows.stop();
			filter.stop();
			quiet.stop();
			watcher.disconnect();
			unlisten();
			for (const cell of cells) cell.leave();
		},
	};
}
