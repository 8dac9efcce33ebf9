// Keys of the page and of the view that is shown, and the help that lists them.
import {button, h} from './elements.js';

const NAMES = {' ': 'Space', ArrowLeft: '←', ArrowRight: '→', ArrowUp: '↑', ArrowDown: '↓', PageUp: 'Page up', PageDown: 'Page down'};

// lists(): [[heading, [{keys, does, run, everywhere}]]], of what is shown.
export function listenToKeys(lists) {
  document.addEventListener('keydown', event => {
    if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector('dialog[open]')) return;
    const target = event.target;
    const typing = target.matches('textarea, select, input:not([type=checkbox], [type=range])');
    const pressing = target.matches('a, button, summary, input') && ['Enter', ' '].includes(event.key);
    const sliding = target.matches('input[type=range]') && /^(Arrow|Page|Home|End)/.test(event.key);
    const all = lists().flatMap(([, keys]) => keys);
    const key = all.find(one => one.keys.includes(event.key) && (one.everywhere || !(typing || pressing || sliding)));
    if (!key) return;
    event.preventDefault();
    key.run(event);
  });
}

export function showHelp(lists) {
  const dialog = h('dialog', {class: 'help-page', 'aria-labelledby': 'help-title', onclose: () => dialog.remove()},
    h('div', {class: 'heading'}, h('h2', {id: 'help-title'}, 'Keys'), button('Close', 'Closes the help (Escape)', () => dialog.close())),
    lists().map(([heading, keys]) => keys.length > 0 && h('section', {}, h('h3', {}, heading),
      h('dl', {}, keys.map(key => [h('dt', {}, key.keys.map(name => h('kbd', {}, NAMES[name] ?? name))), h('dd', {}, key.does)])))),
    h('p', {class: 'help'}, 'A click with Shift ticks all records between this one and the one ticked before.'));
  document.body.append(dialog);
  dialog.showModal();
}
