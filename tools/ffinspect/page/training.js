// What training sees: the views that a loader makes of a record, several draws side by side.
import {address, ask, isAborted, latest, reasonOf, set} from './api.js';
import {h, put, settled} from './elements.js';
import {scaleMarks, overlay} from './picture.js';

const DEFAULT = 'RandomResizedCrop(224), RandomHorizontalFlip()';
const SLIDERS = [
  {name: 'size', text: 'size', min: 32, max: 512, step: 32, value: 224},
  {name: 'scale', text: 'smallest crop', min: 0.05, max: 1, step: 0.05, value: 0.3},
  {name: 'flip', text: 'flip', min: 0, max: 1, step: 0.1, value: 0.5},
  {name: 'brightness', text: 'brightness', min: 0, max: 1, step: 0.1, value: 0},
  {name: 'contrast', text: 'contrast', min: 0, max: 1, step: 0.1, value: 0},
  {name: 'saturation', text: 'saturation', min: 0, max: 1, step: 0.1, value: 0},
];

// changed(values): what belongs into the address.
export function trainingPanel(changed) {
  let place, record;
  const text = h('textarea', {id: 'transform', rows: 3, spellcheck: false, oninput: settled(400, () => change())});
  const sliders = Object.fromEntries(SLIDERS.map(({name, text: label, ...limits}) => [name, h('input', {type: 'range', id: `slider-${name}`, ...limits, oninput: settled(150, () => slid())})]));
  const draws = h('input', {type: 'number', id: 'draws', min: 1, max: 32, value: 6, onchange: () => change()});
  const seed = h('input', {type: 'number', id: 'seed', min: 0, value: 0, onchange: () => change()});
  const says = h('p.problem', {role: 'status', hidden: true});
  const views = h('div.views');
  const element = h('div.training',
    h('label', {for: 'transform'}, 'Transforms'), text, says,
    h('details.sliders', h('summary', 'Write them with sliders'), h('div', SLIDERS.map(({name, text: label}) => h('label', h('span', label), sliders[name])))),
    set.transforms.length > 0 && h('details', h('summary', 'All transforms'), h('ul.signatures', set.transforms.map(signature => h('li', h('code', signature))))),
    h('div.row', h('label', {for: 'draws'}, 'Draws'), draws, h('label', {for: 'seed'}, 'Seed'), seed, h('span.help', 'Draw n is what a Loader with this seed gives in epoch n.')),
    views);

  function slid() {
    const of = name => Number(sliders[name].value);
    const jitter = [of('brightness'), of('contrast'), of('saturation')];
    text.value = [`RandomResizedCrop(${of('size')}, scale=(${of('scale')}, 1))`, of('flip') > 0 && `RandomHorizontalFlip(${of('flip')})`, jitter.some(Boolean) && `ColorJitter(${jitter.join(', ')})`].filter(Boolean).join(', ');
    change();
  }

  function change() {
    changed({transform: text.value, draws: draws.value, seed: seed.value});
    draw();
  }

  const tell = words => {
    says.textContent = words;
    says.hidden = !words;
  };
  const asked = latest(error => {
    tell(error.message);
    text.ariaInvalid = 'true';
  });
  const draw = () => asked.run(async signal => {
    const values = {split: place.split, record: record.record, transform: text.value, seed: seed.value || 0, field: place.field, mask: place.mask};
    const number = Math.min(Math.max(1, Number(draws.value) || 1), 32);
    const {problem} = await ask('api/view', {...values, draw: 0}, {signal});
    tell(problem ?? '');
    text.ariaInvalid = null;
    put(views, Array.from({length: number}, (_, of) => oneView({...values, draw: of}, signal)));
  });

  function oneView(values, signal) {
    const marks = h('div.marks');
    const why = h('p.problem', {hidden: true});
    const image = h('img', {alt: `Draw ${values.draw}`, onload: boxes, onerror: async () => { why.textContent = await reasonOf(image.src, signal); why.hidden = false; }, src: address('view', values)});
    return h('figure', h('div.frame.shown', image, marks), why, h('figcaption', `epoch ${values.draw}`));

    async function boxes() {
      try {
        const answer = await ask('api/view', values, {signal});
        if (!answer.boxes?.length) return;
        const drawing = overlay(answer.width, answer.height, {boxes: answer.boxes.map(box => ({x: box.left, y: box.top, width: box.right - box.left, height: box.bottom - box.top, label: box.label, name: box.name ?? null}))});
        put(marks, drawing);
        scaleMarks(drawing, image, answer.width);
      } catch (error) {
        if (isAborted(error)) return;
        why.textContent = error.message;
        why.hidden = false;
      }
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

