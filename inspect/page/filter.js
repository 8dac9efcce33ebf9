// What chooses records, beside the grid: text, a filter, results and classes.
import {ask, choiceOf, go, latest, LIMITS, read, resultsOf, set, splitOf, UNLIMITED, worstFirst} from './addresses.js';
import {button, h, put, sentence, settled, toggle} from './elements.js';
import {histogram} from './histogram.js';

// By the kind of the results.
const RESULTS = {found: 'with a result', right: 'right', wrong: 'wrong', sure: 'wrong and sure'};
const OF_KIND = {classes: Object.keys(RESULTS), roots: ['found']};
const OF_TWO = {both: 'both right', first: 'only the first right', second: 'only the second right', neither: 'both wrong'};

export function filterPanel(start) {
	let place = start;
	const text = h('input', {type: 'search', id: 'text', spellcheck: false, autocomplete: 'off', oninput: () => textSoon()});
	const where = h('textarea', {id: 'where', rows: 2, spellcheck: false, autocomplete: 'off', oninput: () => whereSoon(), onkeydown: event => event.key === 'Enter' && event.preventDefault(), 'aria-describedby': 'where-says'});
	const textHelp = h('p.help');
	const inside = h('div');
	const whereHelp = h('p.help');
	const says = Object.assign(sentence(), {id: 'where-says'});
	const results = h('div.choices', {role: 'group', ariaLabel: 'Results'});
	const limits = h('div.limits');
	const bars = histogram(next => apply(next));
	const unfold = button('Filter', 'Shows or hides the filters', () => fold(), {class: 'unfold', ariaExpanded: 'false'});
	const element = h('div.side-place', unfold, h('aside.side', {ariaLabel: 'Filter'},
		h('label', {for: 'text'}, 'Text'), text, textHelp, inside, h('label', {for: 'where'}, 'Where'), where, says, whereHelp, results, limits, bars.element));
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
		apply({where: value, ticked: ''}, true);
	});

	function showWhereHelp() {
		const {classes, fields} = splitOf(place.split);
		const columns = fields.filter(field => field.column), [first] = columns;
		const example = classes?.length > 1 ? `class in {${classes.slice(0, 2).map(({name}) => `'${name.replaceAll("'", "''")}'`).join(', ')}}` : `${first?.word} == ${first?.type === 'string' ? "'a text'" : 3}`;
		where.ariaInvalid = null;
		says.tell('');
		whereHelp.textContent = first ? `Such as ${example}. Columns: ${columns.map(field => field.word).join(', ')}. Join conditions with and, or, not and brackets.` : 'No field of this split is a column.';
	}

	// While somebody types, the button "back" leads to the choice before, not to each letter.
	function apply(values, typed = false) {
		const replace = typed && Object.keys(values).every(name => place[name]);
		go({...read(), at: '', ...values}, replace);
	}

	function showLimits() {
		const {classes} = splitOf(place.split);
		const nameOf = label => classes?.[label]?.name ?? (label === '-1' ? 'other' : label);
		const labels = place.label?.split(',') ?? [];
		const chip = (say, remove) => button([h('bdi', say), ' ', '×'], 'Removes this filter', () => apply(remove), {class: 'chip'});
		put(limits, labels.map(label => chip(nameOf(label), {label: labels.filter(other => other !== label).join(',')})),
			place.truth && chip(`is ${nameOf(place.truth)}`, {truth: ''}), place.found && chip(`found ${nameOf(place.found)}`, {found: ''}),
			place.ticked && chip('ticked', {ticked: ''}), place.group && chip(`group ${place.group} of duplicates`, {group: ''}), LIMITS.some(name => place[name]) && button('Show all', 'Removes all filters', () => apply(UNLIMITED), {class: 'quiet'}));
	}

	function show(next) {
		place = next;
		const split = splitOf(place.split);
		if (document.activeElement !== text) text.value = place.text ?? '';
		const looked = [...split.searched, split.classes && 'class names', ...place.inside ? split.inside : []].filter(Boolean);
		text.disabled = !looked.length && !split.inside.length;
		textHelp.textContent = looked.length ? `Searches ${looked.join(', ')}.` : split.inside.length ? '' : 'This split has no text to search.';
		put(inside, split.inside.length > 0 && toggle('inside the records, too', `Reads all records and searches ${split.inside.join(', ')}`, Boolean(place.inside), on => apply({inside: on ? '1' : ''})));
		if (document.activeElement !== where) {
			where.value = place.where ?? '';
			showWhereHelp();
		}
		const kind = resultsOf(place.split);
		results.hidden = !kind;
		const two = set.results?.other ? OF_TWO : {}, words = {...RESULTS, ...two};
		if (kind) put(results, [...OF_KIND[kind] ?? ['found', 'right', 'wrong'], ...Object.keys(two)].map(only => toggle(words[only], `Only records: ${words[only]}`, place.only === only, on => apply({only: on ? only : ''}))),
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
