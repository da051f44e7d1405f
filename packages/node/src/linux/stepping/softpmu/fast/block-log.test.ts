import assert from 'node:assert/strict';
import { test } from 'node:test';
import { KIND_CALL, KIND_CONDITIONAL, KIND_OTHER, KIND_RETURN } from '@counterpoint/trace/instructions';
import { type Block, countsFrom, type TargetMemory } from '../../code-cache/index.ts';
import { emptyCounts } from '../soft-counts.ts';
import { BlockLog, LOG_BYTES } from './block-log.ts';
import { LoggedBlocks } from './logged-blocks.ts';

const ENTRIES = 4096;
const MOST = (LOG_BYTES - ENTRIES) / 4;
const KINDS = [KIND_CONDITIONAL, KIND_OTHER, KIND_CALL, KIND_RETURN];

/** `instructions` of two bytes each, the last of them of one of KINDS. */
function blockAt(pc: number, instructions: number): Block {
  const kinds = new Uint8Array(instructions).fill(KIND_OTHER);
  kinds[instructions - 1] = KINDS[pc % KINDS.length]!;
  const places = { start: 0, countedFrom: 0, body: 0, bodyEnd: 0, end: 0, counter: 0 };
  return { pc, ...places, marks: [], kinds, lengths: new Uint8Array(instructions).fill(2) };
}

/** Memory with a log in it, to which a thread writes. */
class LoggingThread implements TargetMemory {
  readonly #bytes = new Uint8Array(LOG_BYTES);
  readonly #words = new Int32Array(this.#bytes.buffer);

  read(address: number, into: Uint8Array): number {
    into.set(this.#bytes.subarray(address, address + into.length));
    return into.length;
  }

  write(address: number, bytes: Uint8Array): void {
    this.#bytes.set(bytes, address);
  }

  execute(...ids: number[]): void {
    for (const id of ids) {
      assert.ok(this.#words[0]! < 0, 'the log is full');
      this.#words[(LOG_BYTES + this.#words[0]!) / 4] = id;
      this.#words[0]! += 4;
    }
  }
}

/**
 * A log of the blocks at 0x1000, 0x1001, ..., and what is told of it: addresses, and of a
 * block that was left how much.
 */
function newLog(count: number) {
  const thread = new LoggingThread();
  const told: string[] = [];
  const hex = (pc: number) => pc.toString(16);
  const log = new BlockLog(
    0,
    thread,
    {
      blocksDone(blocks, ids, done) {
        for (let index = 0; index < done; index++) {
          const [from, to] = [ids[index]!, ids[index + 1]!].map((id) => blocks.table.startOf(id));
          told.push(`${hex(from!)}>${hex(to!)}`);
        }
      },
      blockLeft(blocks, id, done, pc) {
        told.push(`${hex(blocks.blockOf(id).pc)} ${done}>${hex(pc)}`);
      },
    },
    null,
  );
  const blocks = Array.from({ length: count }, (_, index) => blockAt(0x1000 + index, 3));
  for (const block of blocks) log.add(block);
  return { log, thread, blocks, told: () => told.splice(0) };
}

test('what was drained is told in its order, also when the thread has gone on', () => {
  const { log, thread, blocks, told } = newLog(3);
  thread.execute(0, 1);
  log.drain();
  assert.deepEqual(told(), []);
  thread.execute(2, 0);
  log.tell();
  assert.deepEqual(told(), ['1000>1001']);
  log.take();
  assert.deepEqual(told(), ['1001>1002', '1002>1000']);
  log.take();
  thread.execute(1);
  log.settle(blocks[1]!, 2, 0x1003);
  assert.deepEqual(told(), ['1000>1001', '1001 2>1003']);
  // What is drained twice without a word between is told all the same.
  thread.execute(2);
  log.drain();
  thread.execute(0);
  log.settle(null, 0, 0x2000);
  assert.deepEqual(told(), ['1002>1000', '1000 3>2000']);
  log.settle(null, 0, 0x2000);
  assert.deepEqual(told(), []);
});

test('of a log that is full, the last block has not begun', () => {
  const { log, thread, told } = newLog(2);
  for (let index = 1; index < MOST; index++) thread.execute(0);
  thread.execute(1);
  log.settle(null, 0, 0x1001);
  assert.equal(told().length, MOST - 1);
  thread.execute(1);
  log.settle(null, 0, 0x2000);
  assert.deepEqual(told(), ['1001 3>2000']);
});

test('a block whose number was forgotten leads to one of those that came after', () => {
  const { log, thread, told } = newLog(2);
  thread.execute(0, 1);
  log.drain();
  log.forget();
  assert.equal(log.next.id, 0);
  log.add(blockAt(0x5000, 3));
  thread.execute(0, 0);
  log.take();
  assert.deepEqual(told(), ['1000>1001', '1001 3>5000', '5000>5000']);
});

test('counts of many blocks are the sum of each; numbers that no block has are no counts', () => {
  const blocks = new LoggedBlocks();
  const made = Array.from({ length: 1000 }, (_, index) => blockAt(0x1000 + index, 1 + (index % 64)));
  for (const block of made) blocks.add(block);
  const ids = Int32Array.from({ length: 5003 }, (_, index) => (index * 7919) % made.length);
  const expected = emptyCounts();
  for (const id of ids) {
    const { instructions, branches, conditional, calls } = countsFrom(made[id]!, 0);
    expected.instructions += instructions;
    expected.branches += branches;
    expected.conditional += conditional;
    expected.calls += calls;
  }
  const counts = emptyCounts();
  new LoggedBlocks(blocks).addTo(counts, ids, ids.length);
  assert.deepEqual(counts, expected);
  // The most that a slice can have.
  const most = new LoggedBlocks();
  most.add(blockAt(0x1002, 64));
  const all = emptyCounts();
  most.addTo(all, new Int32Array(3000), 3000);
  assert.deepEqual(all, { ...emptyCounts(), instructions: 64 * 3000, branches: 3000, calls: 3000 });
  ids[4000] = made.length;
  assert.throws(() => blocks.addTo(counts, ids, ids.length), /the program wrote there/);
});
