// A scene: six cameras and the view from above, with a slider over its keyframes.
import {address, ask, choiceOf, failed, go, latest, note, resultsOf} from './addresses.js';
import {button, choose, count, counted, h, press, problem, put, sentence, settled, toggle} from './elements.js';
import {fieldTable} from './fields.js';
import * as ticks from './ticks.js';

// As they stand around the car; cameras of other names follow.
const AROUND = ['CAM_FRONT_LEFT', 'CAM_FRONT', 'CAM_FRONT_RIGHT', 'CAM_BACK_LEFT', 'CAM_BACK', 'CAM_BACK_RIGHT'];
const MAX_SWEEPS = 10;

export function sceneView(start) {
	let place = start, scenes = null, scene = null, at = 0, playing = false;
	const heading = h('div.record-head');
	const failedPicture = ({target}) => failed(target, reason => why.tell(reason));
	const cameras = h('div.cameras');
	const above = h('img.above', {alt: '', onerror: failedPicture});
	const slider = h('input', {type: 'range', min: 0, step: 1, ariaLabel: 'Keyframe of the scene', oninput: () => showFrame(Number(slider.value))});
	const clock = h('span.help.clock');
	const controls = h('div.controls');
	const facts = h('div.facts');
	const why = sentence();
	const element = h('article.scene', heading, why, h('div.scene-body', cameras, h('figure', above)),
		h('div.row.player', slider, clock), controls, h('details', {ontoggle: () => details()}, h('summary', 'Fields of the keyframe'), facts));
	const unlisten = ticks.listen(() => showHeading());
	const details = settled(150, () => showFields());
	let pictures = [];

	const record = () => scene.records[at];
	const boxes = () => place.boxes !== '0';
	const results = () => place.results === '1';
	const sweeps = () => Number(place.sweeps) || 0;

	const asked = latest(error => why.tell(error.message));
	const askedFields = latest(error => put(facts, problem(error)));
	const begin = () => asked.run(async signal => {
		scenes ??= await ask('api/scenes', {split: place.split}, {signal});
		if (!cameras.childNodes.length) {
			const names = [...scenes.cameras].sort((a, b) => rank(a) - rank(b));
			pictures = names.map(name => [name, h('img', {alt: '', onerror: failedPicture, width: 640, height: 360})]);
			put(cameras, pictures.map(([name, image]) => h('figure', image, h('figcaption', name.replace(/^CAM_/, '').replaceAll('_', ' ').toLowerCase()))));
		}
		const wanted = Number(place.record);
		scene = scenes.scenes.find(one => one.records.includes(wanted));
		if (!scene) throw new Error(`The split ${place.split} has no keyframe ${place.record} in a scene.`);
		at = scene.records.indexOf(wanted);
		slider.max = scene.records.length - 1;
		showControls();
		showFrame(at);
	});

	const rank = name => AROUND.indexOf(name) < 0 ? AROUND.length : AROUND.indexOf(name);
	// Pictures are asked for as large as they are drawn, in steps.
	const sizeOf = pixels => Math.min(1600, Math.max(2, Math.ceil(pixels * Math.min(devicePixelRatio, 2) / 160)) * 160);
	const drawn = of => ({split: place.split, record: of, boxes: boxes() ? '1' : '0', results: results() ? '1' : '0'});
	const cameraAt = (of, name) => address('camera', {...drawn(of), camera: name, width: sizeOf(cameras.clientWidth / 3)});
	const aboveAt = of => address('above', {...drawn(of), size: sizeOf(above.parentNode.clientWidth), sweeps: String(sweeps())});

	// Each picture stays until the one that follows is there.
	function showFrame(to) {
		if (!scene) return;
		at = Math.min(Math.max(0, to), scene.records.length - 1);
		why.tell('');
		slider.value = at;
		const time = `${scene.seconds[at].toFixed(1)} s`;
		slider.ariaValueText = clock.textContent = `${at + 1} of ${scene.records.length} · ${time}`;
		for (const [name, image] of pictures) {
			image.src = cameraAt(record(), name);
			image.alt = `${name} at ${time}`;
		}
		above.src = aboveAt(record());
		above.alt = `The scene from above at ${time}`;
		place = {...place, record: record()};
		showHeading();
		remember();
		details();
	}

	const remember = settled(150, () => element.isConnected && note(place));

	function showFields() {
		if (element.querySelector('details').open)
			askedFields.run(async signal => put(facts, fieldTable(await ask('api/record', {split: place.split, record: record()}, {signal}))));
	}

	// Plays in the time of the scene, or as fast as the pictures come where that is slower.
	async function play() {
		playing = !playing;
		showControls();
		while (playing && element.isConnected) {
			if (at + 1 >= scene.records.length) break;
			const began = performance.now();
			const milliseconds = (scene.seconds[at + 1] - scene.seconds[at]) * 1000, next = scene.records[at + 1];
			const coming = [...pictures.map(([name]) => cameraAt(next, name)), aboveAt(next)];
			await Promise.all(coming.map(source => Object.assign(new Image(), {src: source}).decode().catch(() => {})));
			await new Promise(done => setTimeout(done, began + milliseconds - performance.now()));
			if (playing) showFrame(at + 1);
		}
		playing = false;
		if (element.isConnected) showControls();
	}

	function change(values) {
		place = {...place, ...values};
		note(place);
		showFrame(at);
	}

	function toScene(name) {
		const other = scenes.scenes.find(one => one.name === name);
		if (other) go({...place, record: other.records[0]});
	}

	function showControls() {
		put(controls,
			toggle(playing ? 'Stop' : 'Play', 'Plays the scene (Space)', playing, play),
			choose('Scene', scenes.scenes.map(one => [one.name, `${one.name} · ${counted(one.records.length, 'keyframe')}`]), scene.name, toScene),
			toggle('boxes', 'Shows the boxes (b)', boxes(), on => change({boxes: on ? '' : '0'})),
			resultsOf(place.split) && toggle('results', 'Shows the detections (r)', results(), on => change({results: on ? '1' : ''})),
			choose('Older frames of the lidar', Array.from({length: MAX_SWEEPS + 1}, (_, n) => [String(n), n ? counted(n, 'sweep') : 'no sweeps']), String(sweeps()), value => change({sweeps: value === '0' ? '' : value})));
	}

	function showHeading() {
		const now = Number(place.record);
		put(heading, button('Grid', 'Back to the grid (Escape)', toGrid), h('h1', scene?.name ?? '', h('span.class', `keyframe ${count(now)}`)),
			h('span.end', toggle('Tick', 'Ticks the keyframe (x)', ticks.has(place.split, now), tick)));
	}

	async function toGrid() {
		const {position} = await ask('api/position', {...choiceOf(place), record: place.record}).catch(() => ({}));
		go({...choiceOf(place), view: 'grid', at: position || ''});
	}

	const tick = () => ticks.turn(place.split, Number(place.record));

	const keys = [
		['ArrowRight', 'next keyframe', () => showFrame(at + 1)],
		['ArrowLeft', 'previous keyframe', () => showFrame(at - 1)],
		['Home', 'first keyframe', () => showFrame(0)],
		['End', 'last keyframe', () => showFrame(scene.records.length - 1)],
		['Space', 'play, stop', play],
		['b', 'boxes', () => press(controls, 'boxes')],
		['r', 'results', () => press(controls, 'results')],
		['x', 'tick the keyframe', tick],
		['Escape', 'back to the grid', toGrid],
	];

	return {
		element, keys,
		title: () => scene ? `${scene.name}, keyframe ${place.record}` : `Keyframe ${place.record}`,
		shown: begin,
		update(next) {
			if (next.split !== place.split) return false;
			place = next;
			begin();
			return true;
		},
		leave() {
			playing = false;
			asked.stop();
			askedFields.stop();
			remember.stop();
			details.stop();
			unlisten();
			for (const image of element.querySelectorAll('img')) image.removeAttribute('src');
		},
	};
}
