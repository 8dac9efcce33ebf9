// Tokens as text, with a line where a document begins.
import {ask, isAborted} from './addresses.js';
import {button, count, counted, h, problem, put} from './elements.js';

export function tokenPages() {
	const text = h('div.tokens', {tabIndex: 0, role: 'document', ariaLabel: 'Text of the record'});
	const foot = h('div.row');
	const element = h('div', text, foot);

	async function page(place, from, signal) {
		try {
			const answer = await ask('api/tokens', {split: place.split, record: place.record, from}, {signal});
			const begins = new Set(answer.documents);
			const parts = answer.tokens.flatMap((token, i) => {
				const position = answer.from + i;
				return [begins.has(position) && h('span.document', {role: 'separator'}, `a document begins at token ${count(position)}`),
					h('span', {class: i % 2 ? 'token odd' : 'token', title: `token ${position}, number ${token.id}`}, token.text)];
			});
			const to = answer.from + answer.tokens.length;
			if (!from) put(text);
			text.append(...parts.filter(Boolean));
			put(foot, h('span.help', `${count(to)} of ${counted(answer.num_tokens, 'token')}`),
				to < answer.num_tokens && button('More', 'More tokens', () => page(place, to, signal)));
		} catch (error) {
			if (!isAborted(error)) put(text, problem(error));
		}
	}

	return {element, show: (place, signal) => page(place, 0, signal)};
}
