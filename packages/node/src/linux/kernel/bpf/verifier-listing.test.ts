/**
 * The second oracle: the kernel verifier's own listing at log level 2, instruction by instruction, for
 * what LLVM 19 does not know and for what it shares with LLVM. The kernel writes a few things in its own
 * way; `asKernelWrites` says which.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { countStacks, keepAbove, latencyBegin, latencyEnd, recordMiss } from '../../../test/bpf-handlers.ts';
import { cannotLoad } from '../../../test/bpf-programs.ts';
import { realSys } from '../sys/index.ts';
import {
  BpfAssembler,
  type BpfProgram,
  type DisassembledInstruction,
  disassemble,
  i8,
  i16,
  i32,
  r0,
  r1,
  r2,
  r3,
  r4,
  r6,
  u8,
  u16,
  u32,
  u64,
  verifierLog,
  w1,
  w2,
} from './index.ts';

const skip = cannotLoad();

/**
 * `(db) r1 = load_acquire((u64 *)(r3 +0))` by slot, from the path that was
 * followed and the listing before it.
 */
function kernelListing(log: string): Map<number, string> {
  const texts = new Map<number, string>();
  for (const line of log.split('\n')) {
    const found = /^\s*(\d+): (?:[.0-9]{10} )?\(([0-9a-f]{2})\) ([^;]*?)\s*(?:;.*)?$/.exec(line);
    if (found !== null) texts.set(Number(found[1]), `(${found[2]}) ${found[3]}`);
  }
  return texts;
}

function asKernelWrites({ slot, text, comment }: DisassembledInstruction, program: BpfProgram): string {
  const opcode = program.instructions[slot * 8]!;
  const hex = (value: string) => `0x${BigInt.asUintN(32, BigInt(value)).toString(16)}`;
  const written = text
    .replace(/\b(goto|gotol|may_goto) /, '$1 pc')
    .replace(/\(r(\d+) ([+-]) (\d+)\)/g, '(r$1 $2$3)')
    // Comparisons with constants are in hexadecimal.
    .replace(/^(if \S+ \S+ )(-?\d+) goto/, (_, left: string, value: string) => `${left}${hex(value)} goto`)
    // Memory always moves to and from whole registers.
    .replace(/^w(\d+) = (\*|load_acquire)/, 'r$1 = $2')
    .replace(/(^\*.* = |^store_release\(.*, )w(\d+)/, '$1r$2')
    .replace(/^(lock .* )w(\d+)$/, '$1r$2')
    .replace(
      /^[rw](\d+) = atomic_fetch_(\w+)\(\(u(\d+) (.*), [rw]\d+\)$/,
      (_, r, name, bits, place) =>
        `r${r} = atomic${bits === '64' ? '64' : ''}_fetch_${name}((u${bits} ${place}, r${r})`,
    )
    .replace(
      /^[rw](\d+) = xchg(_64|32_32)\((r\d+) ([+-]) (\d+), .*$/,
      (_, r, kind, base, sign, offset) =>
        `r${r} = atomic${kind === '_64' ? '64' : ''}_xchg((u${kind === '_64' ? 64 : 32} *)(${base} ${sign}${offset}), r${r})`,
    )
    .replace(
      /^[rw]0 = cmpxchg(_64|32_32)\((r\d+) ([+-]) (\d+), [rw]0, [rw](\d+)\)$/,
      (_, kind, base, sign, offset, r) =>
        `r0 = atomic${kind === '_64' ? '64' : ''}_cmpxchg((u${kind === '_64' ? 64 : 32} *)(${base} ${sign}${offset}), r0, r${r})`,
    )
    .replace(/^call (\d+)$/, (_, number) => `call bpf_${comment}#${number}`)
    .replace(/^(r\d+ = )(\d+) ll$/, (_, to: string, value: string) => `${to}0x${BigInt(value).toString(16)}`);
  return `(${opcode.toString(16).padStart(2, '0')}) ${written}`;
}

function compare(program: BpfProgram): number {
  const { log, isAccepted } = verifierLog(realSys, program, 2);
  assert.ok(isAccepted, log.slice(-500));
  const listing = kernelListing(log);
  let compared = 0;
  for (const instruction of disassemble(program)) {
    const theirs = listing.get(instruction.slot);
    // Dead for the verifier, or the address of a map, which is another at each load.
    if (
      theirs === undefined ||
      (/ = map\[|^\(18\) r\d+ = 0x/.test(theirs) &&
        / ll$/.test(instruction.text) &&
        instruction.comment !== '')
    )
      continue;
    assert.equal(asKernelWrites(instruction, program), theirs);
    compared++;
  }
  return compared;
}

test('the kernel lists what we list, for every handler of the examples', { skip }, () => {
  const fields = [{ name: 'ret', offset: 16, size: 8, isSigned: true }];
  for (const program of [
    latencyBegin(1),
    latencyEnd(1),
    countStacks(),
    recordMiss(),
    keepAbove(1, fields, 'ret', 0),
  ]) {
    const compared = compare(program);
    assert.ok(compared > (program.instructions.length / 8) * 0.7, `${compared} compared`);
  }
});

test('instructions of cpu v4', { skip }, () => {
  const asm = new BpfAssembler({ name: 'v4', type: 'socket-filter' });
  const slot = asm.stack('slot', 8);
  asm.store(slot, 5);
  asm.address(r3, slot);
  asm.move(r2, -3);
  asm.load(r1, i8(r3));
  asm.load(r1, i16(r3));
  asm.load(r1, i32(r3));
  asm.divideSigned(r1, r2);
  asm.moduloSigned(w1, 3);
  asm.moveSigned(r2, r1, 8);
  asm.moveSigned(w2, w1, 16);
  asm.moveSigned(r2, r1, 32);
  for (const bits of [16, 32, 64] as const) {
    asm.swapBytes(r1, bits);
    asm.toBigEndian(r1, bits);
    asm.toLittleEndian(r1, bits);
  }
  asm.jumpLong('long');
  asm.label('long');
  asm.if(w1, 's>=', -7, () => asm.move(r4, 0x1122334455667788n));
  asm.return(0);
  assert.ok(compare(asm.assemble()) > 20);
});

test('atomic operations of both widths', { skip }, () => {
  const asm = new BpfAssembler({ name: 'atomics', type: 'socket-filter' });
  const slot = asm.stack('slot', 8);
  asm.store(slot, 5);
  asm.address(r3, slot);
  asm.move(r0, 1);
  asm.move(r6, 1);
  for (const [to, value] of [
    [u64(r3), r6],
    [u32(r3, 4), { ...r6, bits: 32 }],
  ] as const) {
    asm.atomicAdd(to, value);
    asm.atomicOr(to, value);
    asm.atomicAnd(to, value);
    asm.atomicXor(to, value);
    asm.atomicFetchAdd(to, value);
    asm.atomicFetchOr(to, value);
    asm.atomicFetchAnd(to, value);
    asm.atomicFetchXor(to, value);
    asm.atomicExchange(to, value);
    asm.atomicCompareExchange(to, value);
  }
  asm.return(0);
  assert.ok(compare(asm.assemble()) >= 24);
});

/** Whether the kernel knows such an instruction at all. */
function knows(write: (asm: BpfAssembler) => void): boolean {
  const asm = new BpfAssembler({ name: 'knows', type: 'socket-filter' });
  asm.store(asm.stack('slot', 8), 0);
  write(asm);
  asm.return(0);
  return verifierLog(realSys, asm.assemble()).isAccepted;
}

test('load_acquire and store_release, which LLVM 19 lacks', {
  skip:
    skip ||
    (knows((asm) => asm.loadAcquire(r1, u64({ ...r0, number: 10 }, -8)))
      ? false
      : 'this kernel is older than Linux 6.15'),
}, () => {
  const asm = new BpfAssembler({ name: 'ordered', type: 'socket-filter' });
  const slot = asm.stack('slot', 8);
  asm.store(slot, 5);
  asm.address(r3, slot);
  for (const of of [u8, u16, u32]) {
    asm.loadAcquire(w1, of(r3, 4));
    asm.storeRelease(of(r3, 4), w1);
  }
  asm.loadAcquire(r1, u64(r3));
  asm.storeRelease(u64(r3), r1);
  asm.return(0);
  assert.ok(compare(asm.assemble()) >= 12);
});

function mayJumpNowhere(asm: BpfAssembler): void {
  asm.mayJump('end');
  asm.label('end');
}

test('may_goto', {
  skip: skip || (knows(mayJumpNowhere) ? false : 'this kernel is older than Linux 6.9'),
}, () => {
  const asm = new BpfAssembler({ name: 'may_goto', type: 'socket-filter' });
  asm.move(r6, 0);
  asm.label('top');
  asm.mayJump('end');
  asm.add(r6, 1);
  asm.jump('top');
  asm.label('end');
  asm.return(0);
  assert.ok(compare(asm.assemble()) >= 5);
});
