// What chooses records, beside the grid: text, a filter, results and classes.
import {ask, choiceOf, go, latest, LIMITS, read, resultsOf, splitOf, UNLIMITED, worstFirst} from './addresses.js';
import {button, h, put, sentence, settled, toggle} from './elements.js';
import {histogram} from './histogram.js';

// By the kind of the results.
const RESULTS = {found: 'with a result', right: 'right', wrong: 'wrong', sure: 'wrong and sure'};
const OF_KIND = {classes: Object.keys(RESULTS), roots: ['found']};

export function filterPanel(start) {
	let place = start;
	const text = h('input', {type: 'search', id: 'text', spellcheck: false, autocomplete: 'off', oninput: () => textSoon()});
	const where = h('textarea', {id: 'where', rows: 2, spellcheck: false, autocomplete: 'off', oninput: () => whereSoon(), onkeydown: event => event.key === 'Enter' && event.preventDefault(), 'aria-describedby': 'where-says'});
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

	// A filter is applied when the server has understood it; until then the grid stays as it is.
	const tryWhere = () => asked.run(async signal => {
		const value = where.value.trim();
		await ask('api/find', {...choiceOf(place), where: value}, {signal});
		showWhereHelp();
		apply({where: value}, true);
	});

	function showWhereHelp() {
		const {classes, fields} = splitOf(place.split);
		const columns = fields.filter(field => field.column), [first] = columns;
		const example = classes?.length > 1 ? `class in {'${classes[0].name}', '${classes[1].name}'}` : `${first?.name} == ${first?.type === 'string' ? "'a text'" : 3}`;
		where.ariaInvalid = null;
		says.tell('');
		whereHelp.textContent = first ? `Such as ${example}. Columns: ${columns.map(field => field.name).join(', ')}` : 'No field of this split has a column.';
	}

	// While somebody types, the button "back" leads to the choice before, not to each letter.
	function apply(values, typed = false) {
		const replace = typed && Object.keys(values).every(name => place[name]);
		go({...read(), at: '', ...values}, replace);
	}

	function showLimits() {
		const {classes} = splitOf(place.split);
		const nameOf = label => classes?.[label]?.name ?? label;
		const labels = place.label?.split(',') ?? [];
		const chip = (say, remove) => button(`${say} ×`, 'Removes this part of the choice', () => apply(remove), {class: 'chip'});
		put(limits, labels.map(label => chip(nameOf(label), {label: labels.filter(other => other !== label).join(',')})),
			place.truth && chip(`is ${nameOf(place.truth)}`, {truth: ''}), place.found && chip(`found ${nameOf(place.found)}`, {found: ''}),
			place.group && chip(`group ${place.group} of duplicates`, {group: ''}), LIMITS.some(name => place[name]) && button('Show all', 'Removes all that chooses records', () => apply(UNLIMITED), {class: 'quiet'}));
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
		const kind = resultsOf(place.split);
		results.hidden = !kind;
		if (kind) put(results, (OF_KIND[kind] ?? ['found', 'right', 'wrong']).map(only => toggle(RESULTS[only], `Only records: ${RESULTS[only]}`, place.only === only, on => apply({only: on ? only : ''}))),
			button('Worst first', 'The worst results first', () => apply({only: place.only || 'found', ...worstFirst(place.split)})));
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
