// Fields of vectors: a map of them by their two widest directions, and the nearest of a record.
import {ask, choiceOf, go, latest, splitOf} from './addresses.js';
import {picture, smallPicture} from './cells.js';
import {choose, count, counted, h, problem, put, settled, short} from './elements.js';

const COLOURS = ['#4e79a7', '#f28e2b', '#e15759', '#76b7b2', '#59a14f', '#edc948', '#b07aa1', '#ff9da7', '#9c755f', '#8c8c8c'];
const EDGE = 12, REACH = 14;  // pixels: around the points, and from the pointer to one

// The records whose vectors point most nearly the same way; asked for when it is opened.
export function nearest(split, record, field) {
	const found = h('div', h('p.help', 'Reading all records …'));
	let asked = false;
	return h('section', h('details', {ontoggle: async () => {
		if (asked) return;
		asked = true;
		try {
			const {near, num_left_out: left} = await ask('api/near', {split, record, field});
			put(found, h('ul.small-pictures', near.map(one => smallPicture(one, count(one.record), short(one.cosine)))), left > 0 && h('p.help', `${counted(left, 'record')} without such a vector.`));
		} catch (error) {
			put(found, problem(error));
		}
	}}, h('summary', `Nearest by ${field} (cosine)`), found));
}

export function mapView(start) {
	let place = start, points = [], at = -1;
	const canvas = h('canvas.map', {tabIndex: 0, role: 'img', ariaLabel: 'Map of vectors', onpointermove: moved, onclick: () => open()});
	const says = h('div.row', {role: 'status'});
	const shown = h('div.map-record');
	const element = h('article.vectors', h('div.record-head', h('h1', 'Map'), h('div.controls')), says, h('div.map-place', canvas, shown));
	const watcher = new ResizeObserver(() => draw());
	const asked = latest(error => put(says, problem(error)));
	const fieldOf = () => splitOf(place.split).vectors.find(name => name === place.field) ?? splitOf(place.split).vectors[0];

	const begin = () => asked.run(async signal => {
		put(element.querySelector('.controls'), choose('Field', splitOf(place.split).vectors.map(name => [name, name]), fieldOf(), field => go({...place, field})));
		put(says, h('span.help', 'Reading the vectors …'));
		const answer = await ask('api/map', {...choiceOf(place), field: fieldOf()}, {signal});
		points = answer.points.map(([record, x, y, label]) => ({record, x, y, label})).sort((a, b) => a.x - b.x);
		at = -1;
		put(says, h('span', `${counted(points.length, 'vector')} of ${counted(answer.length, 'number')}, along the two directions of their largest spread.`),
			answer.num_records > points.length + answer.num_left_out && h('span.help', `Chosen evenly from ${counted(answer.num_records, 'record')}.`),
			answer.num_left_out > 0 && h('span.problem', `${counted(answer.num_left_out, 'record')} left out: null, damaged, not finite, or of a different length.`));
		draw();
	});

	function draw() {
		const scale = devicePixelRatio, {clientWidth: width, clientHeight: height} = canvas;
		if (!width) return;
		Object.assign(canvas, {width: width * scale, height: height * scale});
		const pen = canvas.getContext('2d');
		pen.scale(scale, scale);
		const ends = key => points.reduce(([low, high], point) => [Math.min(low, point[key]), Math.max(high, point[key])], [Infinity, -Infinity]);
		const [left, right] = ends('x'), [bottom, top] = ends('y');
		const per = Math.min((width - 2 * EDGE) / (right - left || 1), (height - 2 * EDGE) / (top - bottom || 1));
		for (const point of points) {
			point.left = width / 2 + (point.x - (left + right) / 2) * per;
			point.top = height / 2 - (point.y - (bottom + top) / 2) * per;
			pen.fillStyle = COLOURS[(point.label ?? 0) % COLOURS.length] ?? COLOURS[0];
			pen.fillRect(point.left - 2, point.top - 2, 4, 4);
		}
		if (!points[at]) return;
		pen.strokeStyle = getComputedStyle(canvas).color;
		pen.lineWidth = 2;
		pen.strokeRect(points[at].left - 5, points[at].top - 5, 10, 10);
	}

	const showPoint = settled(80, () => {
		const point = points[at], {classes, pictures} = splitOf(place.split);
		put(shown, point && [pictures.length > 0 && picture(place.split, point.record, 160), h('p', `Record ${count(point.record)}`), h('p.help', h('bdi', classes?.[point.label]?.name ?? ''))]);
	});

	function turnTo(next) {
		at = next;
		draw();
		showPoint();
	}

	function moved({offsetX, offsetY}) {
		let best = REACH ** 2, next = -1;
		points.forEach((point, i) => {
			const distance = (point.left - offsetX) ** 2 + (point.top - offsetY) ** 2;
			if (distance < best) [best, next] = [distance, i];
		});
		if (next !== at) turnTo(next);
	}

	const open = () => points[at] && go({...choiceOf(place), view: 'record', record: points[at].record});
	const step = by => points.length && turnTo(Math.min(Math.max(0, at + by), points.length - 1));

	begin();
	return {
		element,
		keys: [['ArrowRight', 'point to the right', () => step(1)], ['ArrowLeft', 'point to the left', () => step(-1)], ['Enter', 'open the record', open], ['Escape', 'back to the grid', () => go({...choiceOf(place), view: 'grid'})]],
		title: () => 'Map',
		shown() {
			watcher.observe(canvas);
			canvas.focus({preventScroll: true});
		},
		update(next) {
			if (next.split !== place.split) return false;
			place = next;
			begin();
			return true;
		},
		leave() {
			watcher.disconnect();
			showPoint.stop();
			asked.stop();
		},
	};
}
