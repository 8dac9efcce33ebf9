// What the server is asked. Its addresses are in tools/ffinspect/serve/README.md; all of them are
// relative to the page, which does not know its token.
import {query} from './address.js';

export const set = {splits: [], results: null, transforms: [], transform: '', path: ''};

const kept = new Map();  // answers by address, the oldest first
const MAX_KEPT = 80;

export const splitOf = name => set.splits.find(split => split.name === name);

// The address of something with what it needs. The fingerprint lets browsers keep the answer.
export function address(name, values) {
	return `${name}?${query({...values, v: values.split && splitOf(values.split)?.fingerprint})}`;
}

// The JSON that an address answers with. Throws Error with the server's sentence; an aborted
// request throws an AbortError.
export async function ask(name, values = {}, {signal, keep = true} = {}) {
	const place = address(name, values);
	if (keep && kept.has(place)) {
		const answer = kept.get(place);
		kept.delete(place);
		kept.set(place, answer);
		return answer;
	}
	const answer = await answerOf(place, signal);
	if (keep) {
		kept.set(place, answer);
		if (kept.size > MAX_KEPT) kept.delete(kept.keys().next().value);
	}
	return answer;
}

async function answerOf(place, signal) {
	let response;
	try {
		response = await fetch(place, {signal});
	} catch (error) {
		if (error.name === 'AbortError') throw error;
		throw new Error('ffinspect serve does not answer any more. Start it again and open the address that it prints.');
	}
	let answer;
	try {
		answer = await response.json();
	} catch (error) {
		if (error.name === 'AbortError') throw error;
		throw new Error(`ffinspect serve answered with status ${response.status} and no JSON.`);
	}
	if (!response.ok) throw new Error(answer.error ?? `ffinspect serve answered with status ${response.status}.`);
	return answer;
}

// Why a picture did not come: the sentence that the server gives instead of it.
export async function reasonOf(place, signal) {
	try {
		const response = await fetch(place, {signal});
		if (response.ok) return 'The browser cannot show this picture.';
		return (await response.json()).error;
	} catch (error) {
		return error.name === 'AbortError' ? '' : 'No answer from ffinspect serve.';
	}
}

export async function open() {
	Object.assign(set, await answerOf('api/set'));
}

export const isAborted = error => error.name === 'AbortError';

// Runs f(signal); what ran before is given up. What fails otherwise is told to `failed`.
export function latest(failed) {
	let running = new AbortController();
	return {
		stop: () => running.abort(),
		async run(f) {
			running.abort();
			running = new AbortController();
			const {signal} = running;
			try {
				await f(signal);
			} catch (error) {
				if (!isAborted(error) && !signal.aborted) failed(error);
			}
		},
	};
}

// The results that belong to a split, of this kind.
export const resultsOf = (split, kind) => set.results?.split === split && set.results.kind === kind ? set.results : null;
