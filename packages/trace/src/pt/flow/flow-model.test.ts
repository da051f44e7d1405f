/**
 * Random executions with everything that may happen between and in instructions. A model makes both the
 * packets, as the manual says a processor writes them, and the listing that must come out.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Random } from '../../../../core/src/test/random.ts';
import { CodeImage } from '../../code/image/index.ts';
import {
  PT_IP_FULL,
  PT_IP_SEXT_48,
  PT_IP_SUPPRESSED,
  PT_IP_UPDATE_16,
  PT_IP_UPDATE_32,
} from '../packets/opcodes.ts';
import { FLAG_IP } from '../packets/packet.ts';
import * as kinds from '../packets/packet-kinds.ts';
import { PacketWriter } from '../packets/packet-writer.ts';
import { FlowDecoder } from './flow-decoder.ts';
import { hex64 } from './hex.ts';
import { printFlow } from './print-flow.ts';

type Kind =
  | 'other'
  | 'conditional'
  | 'jump'
  | 'call'
  | 'indirect'
  | 'icall'
  | 'return'
  | 'syscall'
  | 'cr3'
  | 'ptwrite';

interface Instruction {
  kind: Kind;
  bytes: number[];
  offset: number;
  /** Offset of the target of a direct branch. */
  target: number;
}

const SHAPES: readonly (readonly [Kind, readonly number[]])[] = [
  ['other', [0x90]],
  ['other', [0x48, 0x89, 0xc3]],
  ['conditional', [0x75, 0]],
  ['conditional', [0x0f, 0x84, 0, 0, 0, 0]],
  ['jump', [0xeb, 0]],
  ['call', [0xe8, 0, 0, 0, 0]],
  ['indirect', [0xff, 0xe0]],
  ['icall', [0xff, 0xd0]],
  ['return', [0xc3]],
  ['syscall', [0x0f, 0x05]],
  ['cr3', [0x0f, 0x22, 0xd8]],
  ['ptwrite', [0xf3, 0x0f, 0xae, 0xe0]],
];

/**
 * Direct jumps and calls go forward only: between two uses of the trace no address comes
 * twice, so every place is clear.
 */
function randomProgram(random: Random): Instruction[] {
  const program: Instruction[] = [];
  let offset = 0;
  for (let count = 20 + random.below(20); count > 0; count--) {
    const [kind, bytes] = random.pick(SHAPES);
    program.push({ kind, bytes: [...bytes], offset, target: 0 });
    offset += bytes.length;
  }
  // Nothing runs out of the code.
  program.push({ kind: 'indirect', bytes: [0xff, 0xe0], offset, target: 0 });
  for (const [at, one] of program.entries()) {
    if (one.kind !== 'conditional' && one.kind !== 'jump' && one.kind !== 'call') continue;
    const isAnywhere = one.kind === 'conditional';
    let goal = isAnywhere ? random.below(program.length) : at + 1 + random.below(program.length - at - 1);
    let distance = program[goal]!.offset - one.offset - one.bytes.length;
    if (one.bytes.length === 2 && (distance < -128 || distance > 127)) {
      goal = at + 1;
      distance = 0;
    }
    one.target = program[goal]!.offset;
    const wide = one.bytes.length > 2;
    const size = wide ? 4 : 1;
    for (let byte = 0; byte < size; byte++)
      one.bytes[one.bytes.length - size + byte] = (distance >> (8 * byte)) & 255;
  }
  return program;
}

class Model {
  readonly writer = new PacketWriter();
  readonly lines: string[] = [];
  readonly #random: Random;
  readonly #program: Instruction[];
  readonly #hi: number;
  readonly #lo: number;
  readonly #byOffset: Map<number, Instruction>;
  #bits = 0;
  #bitCount = 0;
  #lastLo = 0;
  #lastHi = 0;
  #hasLast = false;
  #stack: number[] = [];
  #inTransaction = false;
  #pc: number;
  /** Events without a place come out where the trace was used last. */
  #anchor = 0;
  /**
   * The length of `lines` right behind a MOV CR3: a TIP.PGD without IP that follows
   * would be taken for the MOV's.
   */
  #behindCr3 = -1;

  constructor(random: Random, program: Instruction[], lo: number, hi: number) {
    this.#random = random;
    this.#program = program;
    this.#lo = lo;
    this.#hi = hi;
    this.#byOffset = new Map(program.map((one) => [one.offset, one]));
    this.#pc = random.pick(program).offset;
  }

  #hiOf(offset: number): number {
    return (this.#hi + ((this.#lo >>> 0) + offset > 0xffff_ffff ? 1 : 0)) | 0;
  }

  #ip(offset: number): string {
    return hex64(this.#lo + offset, this.#hiOf(offset));
  }

  #flush(): void {
    if (this.#bitCount === 0) return;
    const kind = this.#bitCount > 6 ? kinds.PACKET_TNT64 : kinds.PACKET_TNT8;
    this.writer.put(kind, { type: this.#bitCount, lo: this.#bits });
    this.#bits = 0;
    this.#bitCount = 0;
  }

  #bit(taken: boolean): void {
    this.#bits = this.#bits * 2 + (taken ? 1 : 0);
    this.#bitCount++;
    const most = this.#random.oneIn(4) ? 30 : 6;
    if (this.#bitCount >= most || this.#bitCount === 30) this.#flush();
    this.#anchor = this.lines.length;
  }

  /** An IP packet, compressed in a way that fits. */
  #address(kind: number, offset: number): void {
    this.#flush();
    if (this.#random.oneIn(6)) this.writer.put(kinds.PACKET_TSC, { lo: this.writer.length });
    const lo = (this.#lo + offset) | 0;
    const hi = this.#hiOf(offset);
    const fits: number[] = [PT_IP_FULL, PT_IP_SEXT_48];
    if (this.#hasLast && this.#lastHi === hi) {
      fits.push(PT_IP_UPDATE_32);
      if (lo >>> 16 === this.#lastLo >>> 16) fits.push(PT_IP_UPDATE_16, PT_IP_UPDATE_16);
    }
    const type = this.#random.pick(fits);
    const fields = {
      [PT_IP_FULL]: { lo, hi },
      [PT_IP_SEXT_48]: { lo, hi: hi & 0xffff },
      [PT_IP_UPDATE_32]: { lo, hi: 0 },
      [PT_IP_UPDATE_16]: { lo: lo & 0xffff, hi: 0 },
    }[type]!;
    this.writer.put(kind, { type, ...fields });
    this.#lastLo = lo;
    this.#lastHi = hi;
    this.#hasLast = true;
  }

  #say(line: string): void {
    this.lines.push(line);
    this.#anchor = this.lines.length;
  }

  #anywhere(): number {
    return this.#random.pick(this.#program).offset;
  }

  #header(): void {
    const { writer } = this;
    this.#flush();
    writer.put(kinds.PACKET_PSB);
    this.#hasLast = false;
    this.#lastLo = 0;
    this.#lastHi = 0;
    writer.put(kinds.PACKET_TSC, { lo: writer.length });
    const parts = [
      () => void writer.put(kinds.PACKET_MODE_EXEC, { flags: 1 }),
      () => void writer.put(kinds.PACKET_MODE_TSX, { flags: this.#inTransaction ? 1 : 0 }),
      () => this.#address(kinds.PACKET_FUP, this.#pc),
    ];
    while (parts.length > 0) parts.splice(this.#random.below(parts.length), 1)[0]!();
    writer.put(kinds.PACKET_PSBEND);
    this.#stack = [];
  }

  #enable(expected: number): void {
    const { writer } = this;
    if (this.#random.oneIn(4)) {
      writer.put(kinds.PACKET_PIP, { lo: 0x3000 });
      this.#say('[paging, cr3: 0000000000003000]');
    }
    if (!this.#random.oneIn(3)) this.#pc = this.#anywhere();
    this.#address(kinds.PACKET_TIP_PGE, this.#pc);
    this.#say(`[${this.#pc === expected ? 'resumed' : 'enabled'}, ip: ${this.#ip(this.#pc)}]`);
  }

  /** Something that happens before the next instruction. */
  #happen(): void {
    const { writer } = this;
    const random = this.#random;
    const here = this.#ip(this.#pc);
    switch (random.below(9)) {
      case 0: {
        const from = this.#pc;
        this.#address(kinds.PACKET_FUP, from);
        const space = random.below(4);
        if (space === 1) writer.put(kinds.PACKET_PIP, { lo: 0x5000 });
        if (space === 2) writer.put(kinds.PACKET_VMCS, { lo: 0x7000 });
        this.#pc = this.#anywhere();
        this.#address(kinds.PACKET_TIP, this.#pc);
        this.#say(`[interrupt, from: ${here}, to: ${this.#ip(this.#pc)}]`);
        if (space === 1) this.#say(`[paging, cr3: 0000000000005000, ip: ${this.#ip(this.#pc)}]`);
        if (space === 2) this.#say(`[vmcs, base: 0000000000007000, ip: ${this.#ip(this.#pc)}]`);
        return;
      }
      case 1: {
        this.#address(kinds.PACKET_FUP, this.#pc);
        writer.put(kinds.PACKET_TIP_PGD, { type: PT_IP_SUPPRESSED });
        this.#say(`[disabled, at: ${here}]`);
        this.#enable(this.#pc);
        return;
      }
      case 2:
        this.#flush();
        writer.put(kinds.PACKET_OVF);
        this.#hasLast = false;
        this.#lastLo = 0;
        this.#lastHi = 0;
        this.#stack = [];
        this.#inTransaction = false;
        this.#drop();
        if (random.oneIn(2)) {
          this.#pc = this.#anywhere();
          this.#address(kinds.PACKET_FUP, this.#pc);
          this.#say(`[overflow, ip: ${this.#ip(this.#pc)}]`);
        } else {
          this.#say('[overflow]');
          writer.put(kinds.PACKET_MODE_EXEC, { flags: 1 });
          this.#pc = this.#anywhere();
          this.#address(kinds.PACKET_TIP_PGE, this.#pc);
          this.#say(`[enabled, ip: ${this.#ip(this.#pc)}]`);
          this.#say(`[exec mode: 64-bit, ip: ${this.#ip(this.#pc)}]`);
        }
        return;
      case 3:
        this.#header();
        this.#anchor = this.lines.length;
        return;
      case 4:
        this.#flush();
        this.#inTransaction = !this.#inTransaction;
        writer.put(kinds.PACKET_MODE_TSX, { flags: this.#inTransaction ? 1 : 0 });
        this.#address(kinds.PACKET_FUP, this.#pc);
        this.#say(`[${this.#inTransaction ? 'begin transaction' : 'committed'}, ip: ${here}]`);
        return;
      case 5:
        if (!this.#inTransaction) return;
        this.#flush();
        this.#inTransaction = false;
        writer.put(kinds.PACKET_MODE_TSX, { flags: 2 });
        this.#address(kinds.PACKET_FUP, this.#pc);
        this.#pc = this.#anywhere();
        this.#address(kinds.PACKET_TIP, this.#pc);
        this.#say(`[aborted, ip: ${here}]`);
        this.#say(`[interrupt, from: ${here}, to: ${this.#ip(this.#pc)}]`);
        return;
      case 6:
        this.#flush();
        writer.put(kinds.PACKET_EXSTOP, { flags: FLAG_IP });
        this.#address(kinds.PACKET_FUP, this.#pc);
        this.#say(`[exstop, ip: ${here}]`);
        return;
      case 7:
        this.#flush();
        writer.put(kinds.PACKET_CBR, { lo: 0x1c });
        this.lines.splice(this.#anchor++, 0, '[cbr: 1c]');
        return;
      case 8:
        this.#flush();
        writer.put(kinds.PACKET_MWAIT, { lo: 1, hi: 0 });
        writer.put(kinds.PACKET_PWRE, { type: 2, extra: 0 });
        writer.put(kinds.PACKET_EXSTOP, { flags: FLAG_IP });
        this.#address(kinds.PACKET_FUP, this.#pc);
        writer.put(kinds.PACKET_PWRX, { type: 2, extra: 2, flags: 1 });
        this.#say(`[mwait 1 0, ip: ${here}]`);
        this.#say(`[exstop, ip: ${here}]`);
        this.#say('[pwre c3.1]');
        this.#say('[pwrx int: c3 (c3)]');
        return;
    }
  }

  /**
   * Instructions since the last use of the trace are lost with it: nobody can know that they were executed.
   */
  #drop(): void {
    this.lines.length = this.#anchor;
  }

  #execute(): void {
    const { writer } = this;
    const random = this.#random;
    const one = this.#byOffset.get(this.#pc)!;
    const after = one.offset + one.bytes.length;
    this.lines.push(`${this.#inTransaction ? '? ' : ''}${this.#ip(this.#pc)}`);
    this.#pc = after;
    switch (one.kind) {
      case 'other':
        return;
      case 'conditional': {
        const taken = random.oneIn(2);
        if (taken) this.#pc = one.target;
        this.#bit(taken);
        return;
      }
      case 'jump':
        this.#pc = one.target;
        return;
      case 'call':
        if (one.target !== after) this.#push(after);
        this.#pc = one.target;
        return;
      case 'icall':
      case 'indirect':
        if (one.kind === 'icall') this.#push(after);
        this.#pc = this.#anywhere();
        this.#address(kinds.PACKET_TIP, this.#pc);
        this.#anchor = this.lines.length;
        return;
      case 'return': {
        const back = this.#stack.at(-1);
        if (back !== undefined && !random.oneIn(3)) {
          this.#stack.pop();
          this.#pc = back;
          this.#bit(true);
          return;
        }
        // As with a processor that does not compress: the entry stays, so that later
        // ones would be wrong, too.
        this.#stack = [];
        this.#pc = this.#anywhere();
        this.#address(kinds.PACKET_TIP, this.#pc);
        this.#anchor = this.lines.length;
        return;
      }
      case 'syscall':
        if (random.oneIn(2) && this.#behindCr3 !== this.#anchor) {
          this.#flush();
          writer.put(kinds.PACKET_TIP_PGD, { type: PT_IP_SUPPRESSED });
          this.#say('[disabled]');
          this.#enable(after);
        } else {
          this.#pc = this.#anywhere();
          this.#address(kinds.PACKET_TIP, this.#pc);
          this.#anchor = this.lines.length;
        }
        return;
      case 'cr3':
        this.#flush();
        writer.put(kinds.PACKET_PIP, { lo: 0x1000 });
        this.#say('[paging, cr3: 0000000000001000]');
        this.#behindCr3 = this.#anchor;
        return;
      case 'ptwrite': {
        this.#flush();
        const hasIp = random.oneIn(2);
        writer.put(kinds.PACKET_PTW, { type: 0, lo: 0x77, flags: hasIp ? FLAG_IP : 0 });
        if (hasIp) this.#address(kinds.PACKET_FUP, one.offset);
        this.#say(`[ptwrite: 77${hasIp ? `, ip: ${this.#ip(one.offset)}` : ''}]`);
        return;
      }
    }
  }

  #push(offset: number): void {
    this.#stack.push(offset);
    if (this.#stack.length > 64) this.#stack.shift();
  }

  run(steps: number): void {
    this.#header();
    for (let step = 0; step < steps; step++) {
      if (this.#random.oneIn(8)) this.#happen();
      this.#execute();
    }
    const here = this.#ip(this.#pc);
    this.#address(kinds.PACKET_FUP, this.#pc);
    this.writer.put(kinds.PACKET_TIP_PGD, { type: PT_IP_SUPPRESSED });
    this.#say(`[disabled, at: ${here}]`);
  }
}

test('random executions come out as they went in', () => {
  let total = 0;
  for (let seed = 1; seed <= 300; seed++) {
    const random = new Random(seed);
    const program = randomProgram(random);
    const [lo, hi] = random.pick([
      [0x401000, 0],
      // The low half wraps inside the code.
      [0xffffffc0 | 0, 0x7f],
      [0x81000000 | 0, -1],
    ] as const);
    const model = new Model(random, program, lo, hi);
    model.run(20 + random.below(300));
    const image = new CodeImage();
    image.addSection({
      name: 'code',
      address: (BigInt(hi >>> 0) << 32n) | BigInt(lo >>> 0),
      bytes: Uint8Array.from(program.flatMap(({ bytes }) => bytes)),
    });
    for (const isShared of [false, true]) {
      const lines: string[] = [];
      let handOvers = 0;
      const onInstruction = (decoder: FlowDecoder): boolean => {
        // Another engine could be at work here: it leaves everything as it found it.
        if (isShared && random.oneIn(2) && decoder.release()) {
          decoder.adopt();
          handOvers++;
        }
        return true;
      };
      const decoder = new FlowDecoder(model.writer.bytes(), image);
      printFlow(decoder, { eventIp: true, onInstruction }, (line) => lines.push(line));
      assert.deepEqual(lines, model.lines, `seed ${seed}${isShared ? ', shared' : ''}`);
      total += handOvers;
    }
  }
  assert.ok(total > 1000);
});
