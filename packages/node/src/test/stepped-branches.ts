/**
 * Recordings with branch stacks of programs that ran here, without the hardware: stepped, branch by branch.
 */
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  PERF_BR_CALL,
  PERF_BR_COND,
  PERF_BR_IND,
  PERF_BR_IND_CALL,
  PERF_BR_RET,
  PERF_BR_UNCOND,
  PERF_RECORD_MISC_USER,
  PERF_RECORD_SAMPLE,
  PERF_SAMPLE_ADDR,
  PERF_SAMPLE_BRANCH_ANY,
  PERF_SAMPLE_BRANCH_STACK,
  PERF_SAMPLE_BRANCH_TYPE_SAVE,
  PERF_SAMPLE_BRANCH_USER,
  PERF_SAMPLE_ID,
  PERF_SAMPLE_IDENTIFIER,
  PERF_SAMPLE_IP,
  PERF_SAMPLE_TID,
  PERF_SAMPLE_TIME,
  PERF_TYPE_HARDWARE,
} from '@counterpoint/core/abi';
import { branchFlagsWord } from '@counterpoint/core/branches';
import { writePerfData } from '@counterpoint/core/perfdata';
import { type BranchEntry, makeAttr, type PerfRecord } from '@counterpoint/core/records';
import {
  decodeInstruction,
  Instruction,
  KIND_CALL,
  KIND_CALL_INDIRECT,
  KIND_CONDITIONAL,
  KIND_JUMP,
  KIND_JUMP_INDIRECT,
  KIND_RETURN,
  MODE_64,
} from '@counterpoint/trace/instructions';
import { comm, mmap2 } from '../../../core/src/test/recordings.ts';

const STEP_BYTES = 24;
/** PERF_COUNT_HW_BRANCH_INSTRUCTIONS. */
const BRANCH_INSTRUCTIONS = 4n;
const STACK_ENTRIES = 32;

const TYPE_OF_KIND = new Map([
  [KIND_CONDITIONAL, PERF_BR_COND],
  [KIND_JUMP, PERF_BR_UNCOND],
  [KIND_JUMP_INDIRECT, PERF_BR_IND],
  [KIND_CALL, PERF_BR_CALL],
  [KIND_CALL_INDIRECT, PERF_BR_IND_CALL],
  [KIND_RETURN, PERF_BR_RET],
]);

export interface SteppedProgram {
  pid: number;
  /** Address of each instruction that ran, in order. */
  path: BigUint64Array;
  /** Each branch that was taken, in order. `flags` has its kind, a guess of its prediction, and cycles. */
  branches: BranchEntry[];
  /** By branch: place in `path` of where it went to. */
  places: number[];
  maps: { start: bigint; end: bigint; offset: bigint; path: string }[];
}

/** Step through a program; null where that cannot be done here. Files go to `folder`. */
export function stepProgram(folder: string, words: readonly string[]): SteppedProgram | null {
  const stepper = join(folder, 'stepper');
  const source = new URL('step-branches.c', import.meta.url).pathname;
  if (process.arch !== 'x64' || spawnSync('gcc', ['-O1', '-o', stepper, source]).status !== 0) return null;
  const mapsFile = join(folder, 'maps');
  const { status, stdout } = spawnSync(stepper, [mapsFile, ...words], {
    maxBuffer: 1 << 30,
    timeout: 120_000,
  });
  if (status !== 0) return null;
  const [pid, ...lines] = readFileSync(mapsFile, 'utf8').trim().split('\n');
  const maps = lines.flatMap((line) => {
    const match = /^(\w+)-(\w+) (\S+) (\w+) \S+ \d+\s*(.*)$/.exec(line)!;
    const [, start, end, rights, offset, path] = match.map((part) => part!);
    if (!rights!.includes('x') || path === '') return [];
    return [
      { start: BigInt(`0x${start}`), end: BigInt(`0x${end}`), offset: BigInt(`0x${offset}`), path: path! },
    ];
  });
  return { pid: Number(pid), maps, ...branchesOf(stdout) };
}

function branchesOf(steps: Uint8Array): Pick<SteppedProgram, 'path' | 'branches' | 'places'> {
  const view = new DataView(steps.buffer, steps.byteOffset, steps.length);
  const count = Math.floor(steps.length / STEP_BYTES);
  const path = new BigUint64Array(count);
  for (let step = 0; step < count; step++) path[step] = view.getBigUint64(step * STEP_BYTES, true);
  const instruction = new Instruction();
  const lastTarget = new Map<bigint, bigint>();
  const branches: BranchEntry[] = [];
  const places: number[] = [];
  let since = 0;
  for (let step = 0; step + 1 < count; step++) {
    const at = step * STEP_BYTES + 8;
    const length = decodeInstruction(steps, at, at + 16, MODE_64, instruction);
    since++;
    const [from, to] = [path[step]!, path[step + 1]!];
    const type = TYPE_OF_KIND.get(instruction.kind);
    // Repeated string instructions stay where they are; system calls go on behind themselves.
    if (to === from + BigInt(length) || type === undefined) continue;
    const isPredicted = lastTarget.get(from) === to;
    lastTarget.set(from, to);
    const flags = branchFlagsWord({
      prediction: isPredicted ? 'predicted' : 'mispredicted',
      cycles: since + (isPredicted ? 0 : 15),
      type,
    });
    branches.push({ from, to, flags });
    places.push(step + 1);
    since = 0;
  }
  return { path, branches, places };
}

/** As `perf record -b` writes it: a sample at every so many branches, with the last 32. */
export function branchRecording(program: SteppedProgram, every: number): Uint8Array<ArrayBuffer> {
  const { pid, maps, branches, places, path } = program;
  const attr = makeAttr({
    type: PERF_TYPE_HARDWARE,
    config: 0n,
    samplePeriodOrFreq: BigInt(every),
    sampleType: BigInt(
      PERF_SAMPLE_IDENTIFIER |
        PERF_SAMPLE_ID |
        PERF_SAMPLE_IP |
        PERF_SAMPLE_TID |
        PERF_SAMPLE_TIME |
        PERF_SAMPLE_BRANCH_STACK,
    ),
    branchSampleType: BigInt(PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_ANY | PERF_SAMPLE_BRANCH_TYPE_SAVE),
    flags: { sampleIdAll: 1, comm: 1, mmap: 1, mmap2: 1, excludeKernel: 1, excludeHv: 1 },
  });
  const records: PerfRecord[] = [comm(pid, 'stepped', 1n, true)];
  for (const map of maps) records.push(mmap2(pid, map.start, map.end - map.start, map.path, 2n, map.offset));
  for (let last = every; last < branches.length; last += every) {
    // A sample comes a few instructions after its newest branch.
    const place = Math.min(places[last]! + (last % 3), (places[last + 1] ?? path.length) - 1);
    records.push({
      type: PERF_RECORD_SAMPLE,
      misc: PERF_RECORD_MISC_USER,
      tail: new Uint8Array(),
      sample: {
        identifier: 1n,
        id: 1n,
        ip: path[place]!,
        pid,
        tid: pid,
        time: BigInt(last) * 1000n,
        branches: branches.slice(Math.max(0, last - STACK_ENTRIES + 1), last + 1).reverse(),
      },
    });
  }
  return writePerfData({
    attrs: [{ attr, ids: [1n], name: 'cycles:u' }],
    records,
    features: { arch: 'x86_64' },
  });
}

/** As BTS gives them, and single steps: every branch is a sample of its own. */
export function branchEventRecording({ pid, maps, branches }: SteppedProgram): Uint8Array<ArrayBuffer> {
  const attr = makeAttr({
    type: PERF_TYPE_HARDWARE,
    config: BRANCH_INSTRUCTIONS,
    samplePeriodOrFreq: 1n,
    sampleType: BigInt(
      PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR,
    ),
    flags: { sampleIdAll: 1, comm: 1, mmap: 1, mmap2: 1, excludeKernel: 1, excludeHv: 1 },
  });
  const records: PerfRecord[] = [comm(pid, 'stepped', 1n, true)];
  for (const map of maps) records.push(mmap2(pid, map.start, map.end - map.start, map.path, 2n, map.offset));
  branches.forEach(({ from, to }, place) => {
    records.push({
      type: PERF_RECORD_SAMPLE,
      misc: PERF_RECORD_MISC_USER,
      tail: new Uint8Array(),
      sample: { identifier: 1n, ip: from, addr: to, pid, tid: pid, time: BigInt(place + 10) * 1000n },
    });
  });
  return writePerfData({
    attrs: [{ attr, ids: [1n], name: 'branches:u' }],
    records,
    features: { arch: 'x86_64' },
  });
}

/** A small program of loops, calls and returns, built with line information. */
export const LOOPS_PROGRAM = `
#include <stdio.h>
#include <stdlib.h>
static int compare(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
__attribute__((noinline)) int inner(int n) {
  int sum = 0;
  for (int i = 0; i < n; i++) sum += i & 1 ? i : -i;
  return sum;
}
__attribute__((noinline)) int outer(int n) {
  int sum = 0;
  for (int i = 0; i < n; i++) sum += inner(i % 17 + 3);
  return sum;
}
int main(void) {
  int numbers[60];
  for (int i = 0; i < 60; i++) numbers[i] = (i * 7919) % 61;
  qsort(numbers, 60, sizeof *numbers, compare);
  printf("%d %d\\n", outer(150), numbers[30]);
  return 0;
}
`;

/** Build it as \`program\` in the folder; null where there is no compiler. */
export function buildLoops(folder: string, flags: readonly string[] = ['-O1', '-g']): string | null {
  const source = join(folder, 'program.c');
  writeFileSync(source, LOOPS_PROGRAM);
  const program = join(folder, 'program');
  return spawnSync('gcc', [...flags, '-o', program, source]).status === 0 ? program : null;
}
