/**
 * Steps: what a node does with the outcomes of a whole TNT byte, worked out once
 * and then one table read a byte.
 *
 * A TNT byte is `..1bbb..0`: read as an index it already says how many outcomes it has, and which. So a node
 * that was executed has a row of 256 numbers, two to a byte:
 *
 *   row + byte      the step, as one number; 0: not worked out yet
 *   row + byte + 1  where in `effects` its record is
 *
 * The number is all that the next step depends on, so that it waits for one load. The record has what it
 * leaves behind on the call stack, and how often it was done (or, where steps are written down in their
 * order, where StepPaths has its nodes):
 *
 *   step     rare | stop | peak, pushes | row | rest, pop          row: a multiple of 256
 *   effects  [ count, push 0, push 1, push 2 ]                     rare: [ count, peak and pushes, push 0, push 1, … ]
 *
 * All are alike, so that the loop need not ask what is before it: which is next cannot be foreseen, and a
 * wrong guess costs a processor more than all the rest.
 *
 * `peak` is how many calls lay on the stack in between: with a full stack the oldest ones fell out, also for
 * calls that have returned since.
 *
 *     neither  go on at `row` after the pushes, which are rows, too
 *     pop      the node of `row` returned, and its call came before this step: take a row from the stack, and give it the
 *              outcomes that are left, as a TNT byte (`rest`); it pushes nothing
 *     stop     at `row` the trace must say something that is no TNT (or is wrong): up to here and no further; `rest` is left
 */
import { RETURN_STACK_ENTRIES } from '../flow/return-stack.ts';
import { type CodeGraph, END_CONDITIONAL, END_RETURN } from './code-graph.ts';
import {
  EFFECT_COUNT,
  EFFECT_LENGTH,
  EFFECT_PUSHES,
  EFFECT_RARE_FACTS,
  EFFECT_RARE_PUSHES,
  EFFECT_SHIFT,
  MOST_USUAL_PUSHES,
  NO_OUTCOMES,
  RARE_PEAK_SHIFT,
  STEP_PEAK_MASK,
  STEP_PEAK_SHIFT,
  STEP_POP,
  STEP_PUSHES_SHIFT,
  STEP_RARE,
  STEP_STOP,
} from './step-facts.ts';

export const ROW_LENGTH = 256;
const ROW_SHIFT = 8;
const BYTE_MASK = ROW_LENGTH - 1;
const FIRST_ROWS = 256;
/** 64 MiB; with more nodes than that the table is emptied and begins again. */
const MOST_ROWS = 1 << 16;
const FIRST_EFFECTS = 4096;
/** 16 MiB: a million steps. */
const MOST_EFFECTS = 1 << 22;
/**
 * Rows, or their effects, that the last packet before it is emptied may need: some
 * calls for each of its outcomes.
 */
const SPARE_ROWS = 1 << 10;
const SPARE_EFFECTS = 1 << 10;

/** In a TNT byte. */
const MOST_OUTCOMES = 6;

// What a step ends with.
const GO = 0;
const POP = 1;
const STOP = 2;

/** Times that nodes were left by an outcome, by node; `taken`: a branch that was, or a return. */
export interface OutcomeCounts {
  readonly executed: Float64Array;
  readonly taken: Float64Array;
}

export class StepTable {
  table = new Int32Array(FIRST_ROWS * ROW_LENGTH);
  effects = new Int32Array(FIRST_EFFECTS);
  readonly #graph: CodeGraph;
  /** The first row stays unused: 0 is none. */
  #used = ROW_LENGTH;
  #nodeOfRow = new Int32Array(FIRST_ROWS);
  #rowOfNode = new Int32Array(FIRST_ROWS);
  #effectsUsed = EFFECT_LENGTH;
  /** By record: the slot of its step. */
  #slotOfEffect = new Int32Array(FIRST_EFFECTS >>> EFFECT_SHIFT);
  // What #follow leaves.
  #node = 0;
  #rest = 0;
  #peak = 0;
  readonly #pushes: number[] = [];
  /** The nodes that it went over, twice each, plus 1 where `isTaken`. */
  readonly #way = new Int32Array(MOST_OUTCOMES);
  #wayLength = 0;

  constructor(graph: CodeGraph) {
    this.#graph = graph;
  }

  /** Too large to go on: `drain`, then `clear`. */
  get isFull(): boolean {
    return (
      this.#used >= (MOST_ROWS - SPARE_ROWS) * ROW_LENGTH || this.#effectsUsed > MOST_EFFECTS - SPARE_EFFECTS
    );
  }

  /** The node whose row it is, or whose row a slot is in. */
  nodeOf(row: number): number {
    return this.#nodeOfRow[row >>> ROW_SHIFT]!;
  }

  /** The row of a node. May replace `table`. */
  rowOf(node: number): number {
    const row = node < this.#rowOfNode.length ? this.#rowOfNode[node]! : 0;
    return row !== 0 ? row : this.#addRow(node);
  }

  /**
   * Work out what the node of `row` does with the outcomes of a TNT byte. May replace `table` and `effects`.
   */
  build(row: number, byte: number): number {
    const kind = this.#follow(this.nodeOf(row), byte);
    const after = this.rowOf(this.#node);
    const step = this.#addEffect(row + byte, kind, this.#rest, after);
    this.table[row + byte] = step;
    return step;
  }

  /** Add what was done since the last time, by node. Counting begins at 0 again. */
  drain({ executed, taken }: OutcomeCounts): void {
    const { effects } = this;
    const slots = this.#slotOfEffect;
    const way = this.#way;
    for (let effect = EFFECT_LENGTH; effect < this.#effectsUsed; effect += EFFECT_LENGTH) {
      const slot = slots[effect >>> EFFECT_SHIFT]!;
      // The rest of a long record has none.
      if (slot === 0) continue;
      const count = effects[effect + EFFECT_COUNT]! >>> 0;
      if (count === 0) continue;
      effects[effect + EFFECT_COUNT] = 0;
      this.#follow(this.nodeOf(slot), slot & BYTE_MASK);
      for (let at = 0; at < this.#wayLength; at++) {
        const node = way[at]! >>> 1;
        executed[node]! += count;
        if ((way[at]! & 1) !== 0) taken[node]! += count;
      }
    }
  }

  /** Forget all steps. Rows from before are void. */
  clear(): void {
    this.table.fill(0, 0, this.#used);
    this.#rowOfNode.fill(0);
    this.#slotOfEffect.fill(0);
    this.#used = ROW_LENGTH;
    this.#effectsUsed = EFFECT_LENGTH;
  }

  /** The nodes that the step of a slot executes, in order. */
  replay(slot: number, visit: (node: number) => void): void {
    this.#follow(this.nodeOf(slot), slot & BYTE_MASK);
    for (let at = 0; at < this.#wayLength; at++) visit(this.#way[at]! >>> 1);
  }

  /**
   * Execute outcomes from `first` on; where that led is left in #node, #rest, #pushes and
   * #way. Returns GO, POP or STOP.
   */
  #follow(first: number, byte: number): number {
    const graph = this.#graph;
    const outcomes = byte >>> 1;
    const pushes = this.#pushes;
    pushes.length = 0;
    this.#peak = 0;
    let length = 0;
    let left = 31 - Math.clz32(outcomes);
    let node = first;
    let kind = GO;
    while (left > 0 && kind === GO) {
      const end = graph.endOf(node);
      const isTaken = ((outcomes >>> (left - 1)) & 1) !== 0;
      if (end !== END_CONDITIONAL && !(end === END_RETURN && isTaken)) {
        kind = STOP;
        break;
      }
      left--;
      this.#way[length++] = node * 2 + (isTaken ? 1 : 0);
      const push = graph.firstPush.at(node);
      for (let at = 0; at < graph.pushCount.at(node); at++) pushes.push(graph.pushes.at(push + at));
      if (pushes.length > this.#peak) this.#peak = pushes.length;
      if (end === END_CONDITIONAL) node = isTaken ? graph.taken.at(node) : graph.notTaken.at(node);
      else if (pushes.length > 0) node = pushes.pop()!;
      else kind = POP;
    }
    this.#node = node;
    this.#wayLength = length;
    this.#rest = ((1 << left) | (outcomes & ((1 << left) - 1))) << 1;
    return kind;
  }

  #addRow(node: number): number {
    const row = this.#used;
    this.#used += ROW_LENGTH;
    if (this.#used > this.table.length) {
      this.table = grown(this.table, this.table.length * 2);
      this.#nodeOfRow = grown(this.#nodeOfRow, this.#nodeOfRow.length * 2);
    }
    if (node >= this.#rowOfNode.length)
      this.#rowOfNode = grown(this.#rowOfNode, Math.max(this.#rowOfNode.length * 2, node + 1));
    this.#nodeOfRow[row >>> ROW_SHIFT] = node;
    this.#rowOfNode[node] = row;
    return row;
  }

  /** The step of a slot, with a record of its own, as a number. */
  #addEffect(slot: number, kind: number, rest: number, row: number): number {
    // More than fit fall out at once.
    const pushes = this.#pushes.slice(-RETURN_STACK_ENTRIES).map((node) => this.rowOf(node));
    const peak = Math.min(this.#peak, RETURN_STACK_ENTRIES);
    const isRare = kind === STOP || pushes.length > MOST_USUAL_PUSHES || peak > STEP_PEAK_MASK;
    const firstPush = isRare ? EFFECT_RARE_PUSHES : EFFECT_PUSHES;
    const effect = this.#effectsUsed;
    const end = effect + Math.ceil((firstPush + pushes.length) / EFFECT_LENGTH) * EFFECT_LENGTH;
    if (end > this.effects.length) {
      this.effects = grown(this.effects, Math.max(this.effects.length * 2, end));
      this.#slotOfEffect = grown(this.#slotOfEffect, this.effects.length >>> EFFECT_SHIFT);
    }
    const { effects } = this;
    effects[effect + EFFECT_COUNT] = 0;
    if (isRare) effects[effect + EFFECT_RARE_FACTS] = pushes.length | (peak << RARE_PEAK_SHIFT);
    effects.set(pushes, effect + firstPush);
    this.#slotOfEffect[effect >>> EFFECT_SHIFT] = slot;
    this.#effectsUsed = end;
    this.table[slot + 1] = effect;
    return (
      row |
      (rest === NO_OUTCOMES ? 0 : rest) |
      (kind === POP ? STEP_POP : 0) |
      (isRare ? STEP_RARE : (pushes.length << STEP_PUSHES_SHIFT) | (peak << STEP_PEAK_SHIFT)) |
      (kind === STOP ? STEP_STOP : 0)
    );
  }
}

function grown(from: Int32Array, length: number): Int32Array<ArrayBuffer> {
  const to = new Int32Array(length);
  to.set(from);
  return to;
}
