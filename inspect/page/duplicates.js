// Equal and almost equal pictures, in groups.
import {ask, go, latest, toGrid} from './addresses.js';
import {button, count, counted, h, percent, problem, put, toggle} from './elements.js';
import {smallPicture} from './cells.js';

const PAGE = 50, MAX_OF_GROUP = 24, ASK_AGAIN = 700;

export function duplicatesView(start) {
	let place = start, timer = 0, shown = 0;
	const state = h('div.row', {role: 'status'});
	const report = h('div');
	const groups = h('div.groups');
	const foot = h('div.row');
	const element = h('article.duplicates', h('div.record-head', h('h1', 'Duplicates')), state, report, groups, foot);

	const asked = latest(error => put(foot, problem(error)));
	const load = (from, name = 'api/duplicates') => asked.run(async signal => {
		clearTimeout(timer);
		const answer = await ask(name, {from, count: PAGE, across: place.across || '0'}, {signal, keep: false});
		showState(answer);
		put(report, answer.notes.map(note => h('p.help', note)), answer.splits.map(reportOf));
		if (!from) put(groups);
		groups.append(...answer.groups.map(groupOf));
		shown = from + answer.groups.length;
		const all = place.across === '1' ? answer.num_across : answer.num_groups;
		put(foot, shown > 0 && h('span.help', `${count(shown)} of ${counted(all, 'group')}`), shown < all && answer.groups.length > 0 && button('More', 'More groups', () => load(shown)));
		if (answer.state === 'running') timer = setTimeout(() => load(0), ASK_AGAIN);
	});

	function showState(answer) {
		put(state, answer.state === 'running' && [h('progress', {max: 1, value: answer.done, ariaLabel: 'Pictures looked at'}), h('span', percent(answer.done))],
			answer.state === 'none' && [button('Look for duplicates', 'Starts the search', () => load(0, 'api/duplicates/start'), {class: 'main-button'}), h('span.help', 'Every picture is read once; the hashes are kept in a cache, not in the data set.')],
			answer.state === 'done' && [h('span', `${counted(answer.num_groups, 'group')}, ${count(answer.num_across)} of them across splits`),
				answer.num_across > 0 && toggle('across splits only', 'Groups with records of several splits', place.across === '1', on => go({...place, across: on ? '1' : ''}))],
			answer.message && h('span.help', answer.message));
	}

	// What was not compared as a picture, and what is in other splits as well.
	function reportOf(split) {
		const parts = [[split.num_damaged, 'could not be read'], [split.num_undecodable, 'could not be decoded, compared by bytes'], [split.num_null, 'without a picture'], [split.num_plain, 'with too little content, compared by bytes']].filter(([number]) => number);
		return [Object.entries(split.also_in).filter(([other]) => other !== split.name).map(([other, number]) => h('p', h('strong', count(number)), ` of ${counted(split.num_records, 'record')} of ${split.name} ${number === 1 ? 'is' : 'are'} also in ${other}.`)),
			parts.length > 0 && h('p.problem', `${split.name}: ${parts.map(([number, what]) => `${count(number)} ${what}`).join('; ')}.`),
			split.problems.length > 0 && h('details', h('summary', `The first problems of ${split.name}`), split.problems.map(one => h('p.help', one)))];
	}

	function groupOf(group) {
		return h('section.group',
			h('h2', group.exact ? 'Equal' : 'Alike', group.across && h('span.badge', 'across splits'), group.records.some(one => one.split === place.split) && h('a', {href: toGrid(place.split, {group: group.group})}, 'in the grid')),
			h('ul.small-pictures', group.records.slice(0, MAX_OF_GROUP).map(one => smallPicture(one, `${one.split} ${count(one.record)}`, one.class_name, one.distance > 0 && `distance ${one.distance}`)),
				group.records.length > MAX_OF_GROUP && h('li.help', `and ${count(group.records.length - MAX_OF_GROUP)} more`)));
	}

	load(0);
	return {
		element, keys: [],
		title: () => 'Duplicates',
		update(next) {
			place = next;
			load(0);
			return true;
		},
		leave() {
			clearTimeout(timer);
			asked.stop();
		},
	};
}
