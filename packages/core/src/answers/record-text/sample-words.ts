import { hiOf, loOf } from '../../base/index.ts';
import type { RecordedEvent } from '../../file-formats/perfdata/index.ts';
import { PERF_REGISTERS, PERF_SAMPLE_WEIGHT_STRUCT } from '../../format/abi/index.ts';
import type { ReadValues, RegisterDump, SampleRecord } from '../../format/records/index.ts';
import { pageSizeText } from './registers-text.ts';
import { hexOf } from './words.ts';

const ABI_NAMES = ['none', '32-bit', '64-bit'] as const;
const ARM64 = /^(?:aarch64|arm64)$/;

/** A sample with all its parts, in the form of `perf report -D`; lines without an end of line. */
export function* sampleLines(
  { misc, sample }: SampleRecord,
  { attr, layout }: RecordedEvent,
  arch: string | undefined,
): Generator<string> {
  const names = PERF_REGISTERS[ARM64.test(arch ?? '') ? 'arm64' : 'x64'];
  const { ip = 0n, period = 0n, addr = 0n, pid = -1, tid = -1 } = sample;
  const head = `PERF_RECORD_SAMPLE(IP, ${hexOf(misc)}): ${pid}/${tid}: ${hexOf(ip)}`;
  yield `${head} period: ${sample.period === undefined ? attr.samplePeriodOrFreq : period} addr: ${hexOf(addr)}`;
  if (sample.callchain !== undefined) {
    yield `... FP chain: nr:${sample.callchain.length}`;
    for (const [index, address] of sample.callchain.entries())
      yield `..... ${String(index).padStart(2)}: ${wordOf(address)}`;
  }
  if (sample.branches !== undefined) {
    yield `... branch stack: nr:${sample.branches.length}`;
    for (const [index, { from, to, flags }] of sample.branches.entries())
      yield `..... ${String(index).padStart(2)}: ${wordOf(from)} -> ${wordOf(to)} flags ${hexOf(flags)}`;
  }
  if (sample.userRegisters !== undefined)
    yield* registerLines('user', sample.userRegisters, attr.sampleRegsUser, names);
  if (sample.interruptRegisters !== undefined)
    yield* registerLines('intr', sample.interruptRegisters, attr.sampleRegsIntr, names);
  if (sample.userStack !== undefined)
    yield `... ustack: size ${sample.userStack.dynamicSize}, of ${sample.userStack.bytes.length} bytes`;
  if (sample.raw !== undefined) yield `... raw: size ${sample.raw.length}`;
  if (sample.weight !== undefined) yield `... weight: ${weightText(sample.weight, layout.sampleType)}`;
  if (sample.dataSource !== undefined) yield ` . data_src: 0x${sample.dataSource.toString(16)}`;
  if (sample.physicalAddr !== undefined) yield ` .. phys_addr: 0x${sample.physicalAddr.toString(16)}`;
  if (sample.dataPageSize !== undefined) yield ` .. data page size: ${pageSize(sample.dataPageSize)}`;
  if (sample.codePageSize !== undefined) yield ` .. code page size: ${pageSize(sample.codePageSize)}`;
  if (sample.transaction !== undefined) yield `... transaction: ${sample.transaction.toString(16)}`;
  if (sample.cgroup !== undefined) yield `... cgroup: ${sample.cgroup}`;
  if (sample.aux !== undefined) yield `... aux: size ${sample.aux.length}`;
  if (sample.read !== undefined) yield* readLines(sample.read);
}

function* registerLines(
  kind: string,
  { abi, registers }: RegisterDump,
  mask: bigint,
  names: readonly (string | null)[],
): Generator<string> {
  if (registers.length === 0) return;
  yield `... ${kind} regs: mask 0x${mask.toString(16)} ABI ${ABI_NAMES[abi] ?? 'unknown'}`;
  let place = 0;
  for (let register = 0; register < 64; register++) {
    if ((mask & (1n << BigInt(register))) === 0n) continue;
    const name = (names[register] ?? `r${register}`).toUpperCase();
    yield `.... ${name.padEnd(5)} 0x${wordOf(registers[place++] ?? 0n)}`;
  }
}

function* readLines({ timeEnabled, timeRunning, values }: ReadValues): Generator<string> {
  yield '... sample_read:';
  if (timeEnabled !== undefined) yield `...... time enabled ${wordOf(timeEnabled)}`;
  if (timeRunning !== undefined) yield `...... time running ${wordOf(timeRunning)}`;
  if (values.length > 1) yield `.... group nr ${values.length}`;
  for (const { id, value, lost } of values) {
    const loss = lost === undefined ? '' : `, lost ${lost}`;
    yield `..... id ${wordOf(id ?? 0n)}, value ${wordOf(value)}${loss}`;
  }
}

/** With WEIGHT_STRUCT three numbers. */
function weightText(weight: bigint, sampleType: number): string {
  if ((sampleType & PERF_SAMPLE_WEIGHT_STRUCT) === 0) return String(weight);
  return `${loOf(weight)},0x${(hiOf(weight) & 0xffff).toString(16)},0x${(hiOf(weight) >>> 16).toString(16)}`;
}

function pageSize(bytes: bigint): string {
  return pageSizeText(loOf(bytes), hiOf(bytes));
}

function wordOf(value: bigint): string {
  return value.toString(16).padStart(16, '0');
}
