// Rows of a choice, in blocks, asked for when they are near the view. A block that is no longer
// near is given up.
import {ask, isAborted, LIMITS, splitOf} from './addresses.js';
import * as ticks from './ticks.js';

const BLOCK = 200;
const MAX_BLOCKS = 150;  // 30,000 rows are kept

export class Rows {
	// arrived(first, last): rows came. counted(number): how many there are. failed(error).
	constructor(choice, told) {
		Object.assign(this, told, {choice, blocks: new Map(), running: new Map()});
		const split = splitOf(choice.split);
		this.whole = !LIMITS.some(name => choice[name]);
		this.plain = this.whole && split.is_whole && (!choice.sort || choice.sort === 'record');
		this.length = this.whole ? split.num_records : null;
		// Ticked records, which the server does not know: each block is asked for by its numbers.
		this.ticked = choice.ticked ? ticks.of(choice.split) : null;
		if (this.ticked) this.length = this.ticked.length;
		if (choice.descending) this.ticked?.reverse();
		this.columns = !split.pictures.length;
	}

	at(position) {
		return this.blocks.get(Math.floor(position / BLOCK))?.[position % BLOCK];
	}

	// The record at a position. A whole split in its order needs no answer for that.
	record(position) {
		if (this.ticked) return this.ticked[position];
		if (!this.plain) return this.at(position)?.record;
		return this.choice.descending ? this.length - 1 - position : position;
	}

	// Asks for what is missing of first .. last, and gives up what is far from it.
	want(first, last) {
		const from = Math.floor(Math.max(0, first) / BLOCK);
		const to = Math.floor(Math.max(0, last) / BLOCK);
		for (const [block, controller] of this.running)
			if (block < from - 1 || block > to + 1) controller.abort();
		for (let block = from; block <= to; ++block)
			if (!this.blocks.has(block) && !this.running.has(block)) this.ask(block);
	}

	part = block => this.ticked.slice(block * BLOCK, (block + 1) * BLOCK);

	asked(block) {
		if (!this.ticked) return {...this.choice, from: block * BLOCK};
		return {split: this.choice.split, records: ticks.ranges(this.part(block).sort((a, b) => a - b))};
	}

	async ask(block) {
		const controller = new AbortController();
		this.running.set(block, controller);
		try {
			const answer = await ask('api/rows', {...this.asked(block), count: BLOCK, columns: this.columns}, {signal: controller.signal, keep: false});
			if (this.ticked) answer.rows = this.part(block).map(record => answer.rows.find(row => row.record === record));
			this.blocks.set(block, answer.rows);
			this.unread = answer.num_unread;
			if (this.blocks.size > MAX_BLOCKS) this.blocks.delete(this.blocks.keys().next().value);
			if (!this.ticked && this.length !== answer.num_records) {
				this.length = answer.num_records;
				this.counted(this.length);
			}
			this.arrived(block * BLOCK, block * BLOCK + answer.rows.length);
		} catch (error) {
			if (!isAborted(error)) this.failed(error);
		} finally {
			this.running.delete(block);
		}
	}

	stop() {
		for (const controller of this.running.values()) controller.abort();
	}
}
