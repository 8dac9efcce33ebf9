// A picture in full with what lies over it: boxes, joints, names, a mask. Each can be switched off.
import {address, reasonOf} from './api.js';
import {h, put, svg} from './elements.js';

const COLOURS = 8;  // of boxes by label: the classes mark-0 .. mark-7 of style.css

// Draws over a picture of `width` x `height`: boxes {x, y, width, height, label, name} and joints
// {x, y, visible}, all in pixels of it.
export function overlay(width, height, {boxes = [], joints = []}) {
  return svg('svg', {class: 'overlay', viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: 'none', 'aria-hidden': 'true'},
    svg('g', {class: 'boxes'}, boxes.map(box => svg('rect', {x: box.x, y: box.y, width: box.width, height: box.height, class: `mark mark-${colour(box.label)}`}))),
    svg('g', {class: 'joints'}, joints.map(joint => svg('circle', {cx: joint.x, cy: joint.y, r: 1, class: joint.visible ? 'joint' : 'joint hidden-joint'}))),
    svg('g', {class: 'names'}, boxes.map(box => (box.name ?? box.label) !== null && svg('text', {x: box.x, y: box.y, class: `mark-${colour(box.label)}`}, box.name ?? box.label)),
      joints.map((joint, number) => svg('text', {x: joint.x, y: joint.y, class: 'joint-name'}, number))));
}

const colour = label => ((label ?? 0) % COLOURS + COLOURS) % COLOURS;

// Texts and joints keep their size on the screen, however large the picture is drawn.
export function scaleMarks(drawing, image, width) {
  const scale = width / Math.max(1, image.clientWidth);
  drawing.style.fontSize = `${12 * scale}px`;
  for (const circle of drawing.querySelectorAll('circle')) circle.setAttribute('r', 4 * scale);
  for (const text of drawing.querySelectorAll('text')) {
    text.setAttribute('dy', text.classList.contains('joint-name') ? 3.5 * scale : -3 * scale);
    text.setAttribute('dx', text.classList.contains('joint-name') ? 6 * scale : 0);
    if (!text.classList.contains('joint-name') && Number(text.getAttribute('y')) < 14 * scale) text.setAttribute('dy', 13 * scale);
  }
}

// A stage that shows one picture field of a record.
export function stage() {
  let size = {width: 1, height: 1};
  const image = h('img.full', {onload: loaded, onerror: broken});
  const mask = h('img.mask', {alt: '', hidden: true, onload: () => { mask.hidden = false; }, onerror: maskBroken});
  const marks = h('div.marks');
  const why = h('p.problem', {hidden: true, role: 'alert'});
  const frame = h('div.frame', image, mask, marks);
  const element = h('div.stage', frame, why);
  const watcher = new ResizeObserver(() => fit());

  function loaded() {
    if (size.width <= 1) size = {width: image.naturalWidth, height: image.naturalHeight};
    frame.classList.add('shown');
    fit();
  }

  async function broken() {
    const source = image.src;
    if (!image.getAttribute('src')) return;
    const reason = await reasonOf(source);
    if (source === image.src) say(reason);
  }

  async function maskBroken() {
    if (!mask.getAttribute('src')) return;
    mask.hidden = true;
    say(`The mask: ${await reasonOf(mask.src)}`);
  }

  function say(text) {
    why.textContent = text;
    why.hidden = !text;
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
    // picture: of api/record's `pictures`; hidden: a set of 'boxes', 'joints', 'names', 'mask'.
    show({split, record, picture, boxes, joints, maskField, alt}, hidden) {
      say(picture.problem ?? '');
      size = {width: picture.width || 1, height: picture.height || 1};
      frame.classList.remove('shown');
      image.alt = alt;
      image.src = address('picture', {split, record, field: picture.field});
      mask.hidden = true;
      if (maskField) mask.src = address('mask', {split, record, field: maskField});
      else mask.removeAttribute('src');
      put(marks, size.width > 1 && overlay(size.width, size.height, {boxes, joints}));
      this.hide(hidden);
      fit();
    },
    hide(hidden) {
      for (const name of ['boxes', 'joints', 'names', 'mask']) element.classList.toggle(`no-${name}`, hidden.has(name));
      fit();
    },
    actual(on) {
      element.classList.toggle('actual', on);
      fit();
    },
  };
}
