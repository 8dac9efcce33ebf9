// One record: its picture in full, all of its fields, its neighbours, and what training sees of it.
import {ask, choiceOf, foundName, go, isAborted, latest, note, set, splitOf, write} from './addresses.js';
import {choose, count, h, press, problem, put, short, toggle} from './elements.js';
import {picture as smallPicture} from './cells.js';
import {fieldTable} from './fields.js';
import {stage} from './picture.js';
import * as ticks from './ticks.js';
import {tokenPages} from './tokens.js';
import {trainingPanel} from './training.js';
import {nearest} from './vectors.js';

const BEFORE = 8, AFTER = 15;  // neighbours

export function recordView(start) {
	let place = start, record = null, around = {};
	const picture = stage();
	const heading = h('div.record-head');
	const controls = h('div.controls');
	const left = h('div.record-main');
	const facts = h('div.facts');
	const strip = h('nav.strip', {ariaLabel: 'Neighbours in the choice'});
	const training = trainingPanel(values => { place = {...place, ...values}; note(place); });
	const tokens = tokenPages();
	const element = h('article.record', heading, h('div.record-body', left, facts), strip);
	const unlisten = ticks.listen(() => showHeading());

	const split = () => splitOf(place.split);
	const hidden = () => new Set(place.hide ? place.hide.split(',') : []);
	const number = () => Number(place.record);
	const mode = () => split().kind === 'tokens' ? 'tokens' : place.see === 'training' ? 'training' : split().pictures.length ? 'picture' : 'fields';

	const asked = latest(error => {
		record = null;
		put(left, problem(error));
		put(facts);
	});
	const begin = () => asked.run(async signal => {
		showHeading();
		if (mode() === 'tokens') tokens.show(place, signal);
		const around = showNeighbours(signal).catch(error => isAborted(error) || put(strip, problem(error)));
		record = await ask('api/record', {split: place.split, record: place.record}, {signal});
		showMain();
		put(facts, fieldTable(record), split().vectors.map(field => nearest(place.split, record.record, field)));
		await around;
		showHeading();
	});

	// The records before and after this one in the choice.
	async function showNeighbours(signal) {
		const ticked = place.ticked ? ticks.of(place.split) : null;
		if (ticked && place.descending) ticked.reverse();
		around = ticked ? positionIn(ticked) : await ask('api/position', {...choiceOf(place), record: place.record}, {signal});
		const {position} = around;
		if (position === null) return put(strip, h('p.help', 'This record does not match the filters.'));
		const from = Math.max(0, position - BEFORE);
		const end = from + BEFORE + AFTER + 1;
		const {rows} = ticked ? {rows: ticked.slice(from, end).map(record => ({record}))} : await ask('api/rows', {...choiceOf(place), from, count: end - from}, {signal});
		put(strip, rows.map(row => h('a', {href: write({...place, record: row.record}), ariaLabel: `Record ${row.record} ${row.class_name ?? ''}`, ariaCurrent: row.record === number() ? 'true' : null},
			split().pictures.length ? smallPicture(place.split, row.record, 96) : h('span', count(row.record)))));
	}

	function positionIn(list) {
		const position = list.indexOf(number());
		return {position: position < 0 ? null : position, previous: list[position - 1] ?? null, next: position < 0 ? null : list[position + 1] ?? null, num_records: list.length};
	}

	function showMain() {
		const now = mode();
		element.dataset.mode = now;
		showControls(now);
		if (now === 'tokens') put(left, tokens.element);
		else if (now === 'training') {
			put(left, controls, training.element);
			training.show(place, record);
		} else if (now === 'picture') {
			const field = record.pictures.find(one => one.field === place.field) ?? record.pictures[0];
			put(left, controls, picture.element);
			if (!field) return put(left, h('p.note', 'This record has no picture.'));
			const first = field === record.pictures[0];
			picture.show({split: place.split, record: record.record, picture: field, boxes: first ? record.boxes : [], joints: first ? record.joints : [],
				maskField: first ? place.mask || split().masks[0] : null, alt: `Picture of record ${record.record}${nameOf(record) && ', ' + nameOf(record)}`}, hidden());
		} else put(left);
	}

	function showControls(now) {
		const numbers = {boxes: record.boxes.length, joints: record.joints.length, names: record.boxes.length + record.joints.length, mask: split().masks.length,
			results: [...record.boxes, ...record.joints].some(mark => mark.is_found || mark.kind === 'found root')};
		const tab = (to, text) => h('a.tab', {href: write({...place, see: to}), ariaCurrent: now === (to || 'picture') ? 'page' : null}, text);
		put(controls, split().pictures.length > 0 && h('nav.tabs', {ariaLabel: 'What is shown'}, tab('', 'Picture'), tab('training', 'What training sees')),
			now === 'picture' && [
				Object.keys(numbers).filter(name => numbers[name]).map(name => toggle(name, `Shows the ${name} (${name === 'joints' ? 'p' : name[0]})`, !hidden().has(name), on => hide(name, !on))),
				toggle('1:1', 'The picture at its original size (o)', false, on => picture.actual(on))],
			record.pictures.length > 1 && choose('Picture', record.pictures.map(one => [one.field, one.field]), place.field || record.pictures[0].field, field => go({...place, field}, true)),
			now === 'picture' && split().masks.length > 1 && choose('Mask', split().masks.map(name => [name, name]), place.mask || split().masks[0], mask => go({...place, mask}, true)));
	}

	function hide(name, on) {
		const now = hidden();
		if (on) now.add(name);
		else now.delete(name);
		place = {...place, hide: [...now].join(',')};
		note(place);
		picture.hide(now);
	}

	const nameOf = of => of.class_name ?? of.class ?? '';
	function showHeading() {
		const {position, previous, next, num_records} = around;
		const to = (of, text, does) => !Number.isInteger(of) ? h('span.button.off', {ariaHidden: 'true'}, text) : h('a.button', {href: write({...place, record: of}), title: does, ariaLabel: does}, text);
		const shown = record?.record === number() ? record : null;
		put(heading, h('a.button', {href: write(back()), title: 'Back to the grid (Escape)'}, 'Grid'),
			h('h1', `Record ${count(number())}`, shown && h('span.class', h('bdi', nameOf(shown)))),
			shown?.results.map(result => verdict(place.split, result, shown.results.length > 1)),
			h('span.end', Number.isInteger(position) && h('span.help', `${count(position + 1)} of ${count(num_records)}`),
				to(previous, '‹', 'Previous record (←)'), to(next, '›', 'Next record (→)'),
				toggle('Tick', 'Ticks the record (Space)', ticks.has(place.split, number()), tick)));
	}

	const back = () => ({...choiceOf(place), view: 'grid', at: around.position || '', mask: place.mask});

	const tick = () => ticks.turn(place.split, number());

	const step = to => Number.isInteger(around[to]) && go({...place, record: around[to]});
	const keys = [
		['ArrowRight j', 'next record', () => step('next')],
		['ArrowLeft k', 'previous record', () => step('previous')],
		['Space', 'tick the record', tick],
		['b', 'boxes', () => press(controls, 'boxes')],
		['n', 'names', () => press(controls, 'names')],
		['m', 'mask', () => press(controls, 'mask')],
		['r', 'results', () => press(controls, 'results')],
		['p', 'joints', () => press(controls, 'joints')],
		['o', 'the picture at its original size', () => press(controls, '1:1')],
		['s', 'what training sees', () => go({...place, see: place.see ? '' : 'training'})],
		['Escape', 'back to the grid', () => go(back())],
	];

	begin();
	return {
		element, keys,
		title: () => `Record ${place.record}`,
		shown: () => picture.start(),
		update(next) {
			if (splitOf(next.split).kind !== split().kind) return false;
			const same = next.split === place.split && next.record === place.record;
			place = next;
			if (same && record) showMain();
			else begin();
			return true;
		},
		leave() {
			asked.stop();
			picture.stop();
			training.stop();
			unlisten();
		},
	};
}

// A class that was found, or how far off the result is.
function verdict(split, result, several) {
	const {is_right: right, error, score} = result;
	const words = right ? 'found right' : Number.isFinite(error) ? `${set.results.error_name} ${short(error)}` : `found ${foundName(split, result)}`;
	return h('span', {class: right === false ? 'verdict wrong-one' : 'verdict', title: result.file}, several && `${result.file.split('/').pop()}: `, h('bdi', words), Number.isFinite(score) && ` · ${short(score)}`);
}
