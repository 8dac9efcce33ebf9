// What training sees: the views that a loader makes of a record, several draws side by side.
import {address, ask, failed, latest, set} from './addresses.js';
import {h, put, sentence, settled} from './elements.js';
import {scaleMarks, overlay} from './picture.js';

const DEFAULT = 'RandomResizedCrop(224), RandomHorizontalFlip()';
// Name, smallest, largest, step, value.
const SLIDERS = [['size', 32, 512, 32, 224], ['smallest crop', 0.05, 1, 0.05, 0.3], ['flip', 0, 1, 0.1, 0.5], ['brightness', 0, 1, 0.1, 0], ['contrast', 0, 1, 0.1, 0], ['saturation', 0, 1, 0.1, 0]];

// changed(values): what belongs into the address.
export function trainingPanel(changed) {
	let place, record;
	const text = h('textarea', {id: 'transform', rows: 3, spellcheck: false, oninput: settled(400, () => change())});
	const sliders = SLIDERS.map(([ariaLabel, min, max, step, value]) => h('input', {type: 'range', ariaLabel, min, max, step, value, oninput: settled(150, () => slid())}));
	const draws = h('input', {type: 'number', id: 'draws', min: 1, max: 32, value: 6, onchange: () => change()});
	const seed = h('input', {type: 'number', id: 'seed', min: 0, value: 0, onchange: () => change()});
	const says = sentence();
	const views = h('div.views');
	const element = h('div.training',
		h('label', {for: 'transform'}, 'Transforms'), text, says, set.left_out.map(line => h('p.help', line)),
		h('details.sliders', h('summary', 'Write them with sliders'), h('div', sliders.map(slider => h('label', h('span', slider.ariaLabel), slider)))),
		set.transforms.length > 0 && h('details', h('summary', 'All transforms'), h('ul.signatures', set.transforms.map(signature => h('li', h('code', signature))))),
		h('div.row', h('label', {for: 'draws'}, 'Draws'), draws, h('label', {for: 'seed'}, 'Seed'), seed, h('span.help', 'Draw n shows the pictures that a Loader with this seed gives in epoch n.')),
		views);

	function slid() {
		const [size, crop, flip, ...jitter] = sliders.map(slider => Number(slider.value));
		text.value = `RandomResizedCrop(${size}, scale=(${crop}, 1), flip_probability=${flip})${jitter.some(Boolean) ? `, ColorJitter(${jitter.join(', ')})` : ''}`;
		change();
	}

	function change() {
		changed({transform: text.value, draws: draws.value, seed: seed.value});
		draw();
	}

	const asked = latest(error => {
		says.tell(error.message);
		text.ariaInvalid = 'true';
	});
	const draw = () => asked.run(async signal => {
		const values = {split: place.split, record: record.record, transform: text.value, seed: seed.value || 0, field: place.field, mask: place.mask};
		const number = Math.min(Math.max(1, Number(draws.value) || 1), 32);
		const {problem} = await ask('api/view', {...values, draw: 0}, {signal});
		says.tell(problem);
		text.ariaInvalid = null;
		put(views, Array.from({length: number}, (_, of) => oneView({...values, draw: of}, signal)));
	});

	function oneView(values, signal) {
		const marks = h('div.marks');
		const why = sentence();
		const image = h('img', {alt: `Draw ${values.draw}`, onload: boxes, onerror: () => failed(image, reason => why.tell(reason)), src: address('view', values)});
		return h('figure', h('div.frame.shown', image, marks), why, h('figcaption', `epoch ${values.draw}`));

		async function boxes() {
			const {width, height, boxes: found} = await ask('api/view', values, {signal}).catch(() => ({}));  // its picture says what is wrong
			if (!found?.length) return;
			const drawing = overlay(width, height, {boxes: found.map(({left: x, top: y, right, bottom, ...box}) => ({x, y, width: right - x, height: bottom - y, ...box}))});
			put(marks, drawing);
			scaleMarks(drawing, image, width);
		}
	}

	return {
		element,
		show(next, of) {
			place = next;
			record = of;
			if (document.activeElement !== text) text.value = place.transform ?? (set.transform || DEFAULT);
			draws.value = place.draws ?? 6;
			seed.value = place.seed ?? 0;
			draw();
		},
		stop: asked.stop,
	};
}
