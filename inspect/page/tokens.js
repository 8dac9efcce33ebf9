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
			let position = answer.from;
			const parts = answer.tokens.flatMap((token, i) => {
				const at = position;
				position += token.ids.length;
				const tokens = token.ids.length > 1 ? `tokens ${at} to ${position - 1}, numbers ${token.ids.join(', ')}` : `token ${at}, number ${token.ids}`;
				return [begins.has(at) && h('span.document', {role: 'separator'}, `a document begins at token ${count(at)}`),
					h('span', {class: i % 2 ? 'token odd' : 'token', title: tokens}, token.text)];
			});
			const {to} = answer;
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
