// What chooses records, beside the grid: text, a filter, results and classes.
import {ask, latest, resultsOf, splitOf} from './api.js';
import {choiceOf, cleared, go, LIMITS} from './address.js';
import {button, h, put, sentence, settled} from './elements.js';
import {histogram} from './histogram.js';

const RESULTS = [['', 'all'], ['right', 'right'], ['wrong', 'wrong'], ['sure', 'wrong and sure'], ['found', 'with a result']];

export function filterPanel(start) {
	let place = start;
	const fields = () => splitOf(place.split).fields.filter(field => field.column).map(field => field.name);
	const text = h('input', {type: 'search', id: 'text', spellcheck: false, autocomplete: 'off', oninput: () => textSoon(), onkeydown: entered});
	const where = h('textarea', {id: 'where', rows: 2, spellcheck: false, autocomplete: 'off', oninput: () => whereSoon(), onkeydown: entered, 'aria-describedby': 'where-says'});
	const textHelp = h('p.help');
	const whereHelp = h('p.help');
	const says = Object.assign(sentence(), {id: 'where-says'});
	const results = h('div.choices', {role: 'group', ariaLabel: 'Results'});
	const limits = h('div.limits');
	const bars = histogram(next => apply(next));
	const unfold = button('Filter', 'Shows or hides what chooses records', () => fold(), {class: 'unfold', ariaExpanded: 'false'});
	const element = h('div.side-place', unfold, h('aside.side', {ariaLabel: 'Filter'},
		h('label', {for: 'text'}, 'Text'), text, textHelp, h('label', {for: 'where'}, 'Where'), where, says, whereHelp, results, limits, bars.element));
	const asked = latest(error => {
		where.ariaInvalid = 'true';
		says.tell(error.message);
	});

	// Waits until somebody has stopped to type.
	const textSoon = settled(200, () => apply({text: text.value.trim()}, true));
	const whereSoon = settled(300, () => tryWhere());

	function fold(open) {
		unfold.ariaExpanded = element.classList.toggle('unfolded', open);
	}

	function entered(event) {
		if (event.key !== 'Enter' || event.shiftKey) return;
		event.preventDefault();
		if (event.target === text) {
			textSoon.stop();
			apply({text: text.value.trim()});
		} else {
			whereSoon.stop();
			tryWhere();
		}
	}

	// A filter is applied when the server has understood it; until then the grid stays as it is.
	const tryWhere = () => asked.run(async signal => {
		const value = where.value.trim();
		await ask('api/find', {...choiceOf(place), where: value}, {signal});
		showWhereHelp();
		apply({where: value}, true);
	});

	function showWhereHelp() {
		where.ariaInvalid = null;
		says.tell('');
		whereHelp.textContent = fields().length ? `Such as ${exampleOf(splitOf(place.split))}. Columns: ${fields().join(', ')}` : 'No field of this split has a column.';
	}

	// While somebody types, the button "back" leads to the choice before, not to each letter.
	function apply(values, typed = false) {
		const replace = typed && Object.keys(values).every(name => place[name]);
		go({...place, at: '', ...values}, replace);
	}

	function showLimits() {
		const {classes} = splitOf(place.split);
		const nameOf = label => classes?.[label]?.name ?? label;
		const chips = [];
		const chip = (say, remove) => chips.push(button(`${say} ×`, 'Removes this part of the choice', () => apply(remove), {class: 'chip'}));
		for (const label of place.label ? place.label.split(',') : [])
			chip(nameOf(label), {label: place.label.split(',').filter(other => other !== label).join(',')});
		if (place.truth) chip(`is ${nameOf(place.truth)}`, {truth: ''});
		if (place.found) chip(`found ${nameOf(place.found)}`, {found: ''});
		if (place.group) chip(`group ${place.group} of duplicates`, {group: ''});
		const any = LIMITS.some(name => place[name]);
		put(limits, chips, any && button('Show all', 'Removes all that chooses records', () => go({...cleared(place), at: ''}), {class: 'quiet'}));
	}

	function show(next) {
		place = next;
		const split = splitOf(place.split);
		if (document.activeElement !== text) text.value = place.text ?? '';
		text.disabled = !split.searched.length && !split.classes;
		textHelp.textContent = split.searched.length || split.classes ? `Looks in ${[...split.searched, split.classes && 'class names'].filter(Boolean).join(', ')}.` : 'This split has no texts to look in.';
		if (document.activeElement !== where) {
			where.value = place.where ?? '';
			showWhereHelp();
		}
		const has = resultsOf(place.split, 'classes');
		results.hidden = !has;
		put(results, has && RESULTS.map(([value, name]) => button(name, `Records whose result is: ${name}`, () => apply({only: value}), {class: 'toggle', ariaPressed: String((place.only ?? '') === value)})));
		showLimits();
		bars.show(place);
	}

	return {
		element, show,
		search: () => { fold(true); text.select(); },
		where: () => { fold(true); where.focus(); },
		stop: () => { textSoon.stop(); whereSoon.stop(); asked.stop(); bars.stop(); },
	};
}

function exampleOf(split) {
	if (split.classes?.length > 3) return `class in {'${split.classes[0].name}', '${split.classes[1].name}'}`;
	const field = split.fields.find(one => one.column);
	return /string/.test(field.type) ? `${field.name} == 'a text'` : `${field.name} in {3, 100..199}`;
}
