// A picture in full with what lies over it: boxes, joints, names, a mask. Each can be switched off.
import {address, failed, reasonOf} from './addresses.js';
import {thumbnail} from './cells.js';
import {h, put, sentence, svg} from './elements.js';

const COLOURS = ['#4cc9f0', '#ffd23f', '#ff7b72', '#7ee787', '#d2a8ff', '#ffa657', '#f778ba', '#a5d6ff'];  // of boxes, by label

// Draws over a picture of `width` x `height`: boxes {x, y, width, height, label, name, is_found}
// and joints {x, y, kind}, all in pixels of it. What is of a result has the class "found".
export function overlay(width, height, {boxes = [], joints = []}) {
	const ofResult = ({is_found, kind}) => is_found || kind === 'found root' ? 'found' : '';
	const word = (mark, text, more = '') => svg('text', {x: mark.x, y: mark.y, class: `${ofResult(mark)} ${more}`}, text);
	return svg('svg', {class: 'overlay', viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: 'none', 'aria-hidden': 'true'},
		svg('g', {class: 'boxes'}, boxes.map(({x, y, width, height, ...box}) => svg('rect', {x, y, width, height, class: `mark ${ofResult(box)}`, stroke: COLOURS[(box.label ?? 0) & 7]}))),
		svg('g', {class: 'joints'}, joints.map(joint => svg('circle', {cx: joint.x, cy: joint.y, r: 1, class: `joint ${joint.kind} ${ofResult(joint)}`}))),
		svg('g', {class: 'names'}, boxes.map(box => word(box, box.name ?? box.label ?? '')), joints.map((joint, number) => word(joint, joint.kind.includes('root') ? joint.kind : number, 'joint-name'))));
}

// Texts and joints keep their size on the screen, however large the picture is drawn.
export function scaleMarks(drawing, image, width) {
	const scale = width / Math.max(1, image.clientWidth);
	drawing.style.fontSize = `${12 * scale}px`;
	for (const circle of drawing.querySelectorAll('circle')) circle.setAttribute('r', 4 * scale);
	for (const text of drawing.querySelectorAll('text')) {
		const ofJoint = text.classList.contains('joint-name');
		text.setAttribute('dx', ofJoint ? 6 * scale : 0);
		text.setAttribute('dy', scale * (ofJoint ? 3.5 : text.getAttribute('y') < 14 * scale ? 13 : -3));
	}
}

// A stage that shows one picture field of a record.
export function stage() {
	let size = {width: 1, height: 1}, decoded = '';
	const image = h('img.full', {onload: loaded, onerror: broken});
	const mask = h('img.mask', {alt: '', hidden: true, onload: () => { mask.hidden = false; }, onerror: broken});
	const marks = h('div.marks');
	const why = sentence();
	const frame = h('div.frame', image, mask, marks);
	const element = h('div.stage', frame, why);
	const watcher = new ResizeObserver(() => fit());

	// Browsers show what is there of a picture that is cut off, and say nothing; a decoder says it.
	async function loaded() {
		if (size.width <= 1) size = {width: image.naturalWidth, height: image.naturalHeight};
		frame.classList.add('shown');
		fit();
		const source = image.src;
		const reason = await reasonOf(decoded, undefined, '');
		if (reason && source === image.src) why.tell(reason);
	}

	function broken({target}) {
		failed(target, reason => why.tell(target === mask ? `The mask: ${reason}` : reason));
	}

	// As large as the stage takes, up to eight times the picture's own size; or its own size.
	function fit() {
		const {width, height} = size;
		const box = element.getBoundingClientRect();
		const scale = element.classList.contains('actual') ? 1 : Math.min((box.width - 2) / width, (box.height - 2) / height, 8);
		if (!(scale > 0)) return;
		frame.style.width = `${Math.max(1, Math.round(width * scale))}px`;
		frame.style.height = `${Math.max(1, Math.round(height * scale))}px`;
		frame.classList.toggle('magnified', scale > 2);
		const drawing = marks.querySelector('svg');
		if (drawing) scaleMarks(drawing, image, width);
	}

	return {
		element,
		start: () => watcher.observe(element),
		stop: () => { watcher.disconnect(); image.removeAttribute('src'); mask.removeAttribute('src'); },
		// picture: of api/record's `pictures`; hidden: a set of names, as below.
		show({split, record, picture, boxes, joints, maskField, alt}, hidden) {
			why.tell(picture.problem);
			size = {width: picture.width || 1, height: picture.height || 1};
			frame.classList.remove('shown');
			image.alt = alt;
			image.src = address('picture', {split, record, field: picture.field});
			decoded = thumbnail(split, record, 96, {field: picture.field});
			mask.hidden = true;
			if (maskField) mask.src = address('mask', {split, record, field: maskField});
			else mask.removeAttribute('src');
			put(marks, size.width > 1 && overlay(size.width, size.height, {boxes, joints}));
			this.hide(hidden);
			fit();
		},
		hide(hidden) {
			for (const name of ['boxes', 'joints', 'names', 'mask', 'results']) element.classList.toggle(`no-${name}`, hidden.has(name));
			fit();
		},
		actual(on) {
			element.classList.toggle('actual', on);
			fit();
		},
	};
}
