import { toDecimal, toHex } from '../../base/index.ts';
import {
  PERF_SAMPLE_AUX,
  PERF_SAMPLE_CGROUP,
  PERF_SAMPLE_DATA_SRC,
  PERF_SAMPLE_READ,
  PERF_SAMPLE_STACK_USER,
  PERF_SAMPLE_STREAM_ID,
  PERF_SAMPLE_TRANSACTION,
  PERF_SAMPLE_WEIGHT_STRUCT,
} from '../../format/abi/index.ts';
import { decodeReadValues } from '../../format/records/index.ts';
import type { WalkedSample } from '../../profile/ingest/index.ts';
import { jsonBranch, stackEntries } from './branch-entries.ts';
import { BLOCKS, PLACED, type ScriptField } from './fields.ts';

export interface JsonChoice {
  fields: ReadonlySet<ScriptField>;
  /** Also what has no name among the fields: nothing was chosen, so everything is wanted. */
  everything: boolean;
}

const BRANCH_FIELDS: readonly ScriptField[] = /* @__PURE__ */ [PLACED, BLOCKS].flat();
const hex = (lo: number, hi: number) => `0x${toHex(lo, hi)}`;

/**
 * What a sample holds besides its stack, as JSON keeps it: addresses in hex, 64-bit numbers as decimal text.
 */
export function jsonSample(
  sample: WalkedSample,
  { fields: wanted, everything }: JsonChoice,
  trace: () => string,
  le: boolean,
): Record<string, unknown> {
  const { fields, thread, event } = sample;
  const record: Record<string, unknown> = { type: 'sample' };
  if (wanted.has('event')) record['event'] = event.name;
  if (wanted.has('comm')) record['comm'] = thread.comm;
  if (wanted.has('pid')) record['pid'] = fields.pid;
  if (wanted.has('tid')) record['tid'] = fields.tid;
  if (wanted.has('cpu')) record['cpu'] = sample.cpu;
  else if (everything && sample.cpu < 0) record['cpu'] = null;
  if (wanted.has('time')) record['timeNs'] = toDecimal(fields.timeLo, fields.timeHi);
  else if (everything && Number.isNaN(sample.timeNs)) record['timeNs'] = null;
  if (wanted.has('period')) record['period'] = toDecimal(sample.periodLo, sample.periodHi);
  if (wanted.has('ip')) record['ip'] = hex(fields.ipLo, fields.ipHi);
  if (wanted.has('trace') && fields.rawSize > 0) record['trace'] = trace();
  if (wanted.has('addr')) record['addr'] = hex(fields.addrLo, fields.addrHi);
  if (wanted.has('phys_addr')) record['physicalAddr'] = hex(fields.physicalAddrLo, fields.physicalAddrHi);
  if (wanted.has('weight')) addWeight(record, sample);
  if (BRANCH_FIELDS.some((field) => wanted.has(field))) {
    record['branches'] = stackEntries(sample, le).map(jsonBranch);
    if (event.layout.branchHasHwIndex)
      record['branchHwIndex'] = hex(fields.branchHwIndexLo, fields.branchHwIndexHi);
  }
  addRegisters(record, sample, wanted, le);
  if (wanted.has('data_page_size'))
    record['dataPageSize'] = toDecimal(fields.dataPageSizeLo, fields.dataPageSizeHi);
  if (wanted.has('code_page_size'))
    record['codePageSize'] = toDecimal(fields.codePageSizeLo, fields.codePageSizeHi);
  if (everything && (event.layout.sampleType & UNNAMED) !== 0) addUnnamed(record, sample, le);
  return record;
}

/**
 * One number, or (WEIGHT_STRUCT) three: on x86 the latency of the access, of the
 * instruction, and of its retirement.
 */
function addWeight(record: Record<string, unknown>, { fields, event }: WalkedSample): void {
  if ((event.layout.sampleType & PERF_SAMPLE_WEIGHT_STRUCT) === 0) {
    record['weight'] = toDecimal(fields.weightLo, fields.weightHi);
    return;
  }
  record['weight'] = toDecimal(fields.weightLo, 0);
  record['weight2'] = fields.weightHi & 0xffff;
  record['weight3'] = fields.weightHi >>> 16;
}

/** Parts that `-F` has no name for. */
const UNNAMED =
  PERF_SAMPLE_STREAM_ID |
  PERF_SAMPLE_READ |
  PERF_SAMPLE_DATA_SRC |
  PERF_SAMPLE_TRANSACTION |
  PERF_SAMPLE_CGROUP |
  PERF_SAMPLE_STACK_USER |
  PERF_SAMPLE_AUX;

/** Their kind, and the values of those that the attr asks for, in its order. */
function addRegisters(
  record: Record<string, unknown>,
  { fields, event: { layout }, view }: WalkedSample,
  wanted: ReadonlySet<ScriptField>,
  le: boolean,
): void {
  const word = (at: number) => {
    const first = view.getUint32(at, le);
    const second = view.getUint32(at + 4, le);
    return le ? hex(first, second) : hex(second, first);
  };
  const registers = (abi: number, at: number, count: number) => ({
    abi,
    values: Array.from({ length: abi === 0 ? 0 : count }, (_, i) => word(at + i * 8)),
  });
  const { userRegsAbi, userRegsOffset, interruptRegsAbi, interruptRegsOffset } = fields;
  if (wanted.has('uregs'))
    record['userRegisters'] = registers(userRegsAbi, userRegsOffset, layout.userRegisterCount);
  if (wanted.has('iregs'))
    record['interruptRegisters'] = registers(
      interruptRegsAbi,
      interruptRegsOffset,
      layout.interruptRegisterCount,
    );
}

function addUnnamed(
  record: Record<string, unknown>,
  { fields, event, view }: WalkedSample,
  le: boolean,
): void {
  const { layout } = event;
  const has = (bit: number) => (layout.sampleType & bit) !== 0;
  if (has(PERF_SAMPLE_STREAM_ID)) record['streamId'] = toDecimal(fields.streamIdLo, fields.streamIdHi);
  if (has(PERF_SAMPLE_READ)) {
    const read = decodeReadValues(view, fields.readOffset, fields.end, layout.readFormat, le);
    const decimal = (_: string, value: unknown) => (typeof value === 'bigint' ? value.toString() : value);
    record['read'] = JSON.parse(JSON.stringify(read, decimal));
  }
  if (has(PERF_SAMPLE_DATA_SRC)) record['dataSource'] = hex(fields.dataSourceLo, fields.dataSourceHi);
  if (has(PERF_SAMPLE_TRANSACTION)) record['transaction'] = hex(fields.transactionLo, fields.transactionHi);
  if (has(PERF_SAMPLE_CGROUP)) record['cgroup'] = toDecimal(fields.cgroupLo, fields.cgroupHi);
  // Copied memory and trace data are only told of: their bytes are for programs that read the file itself.
  if (has(PERF_SAMPLE_STACK_USER)) record['userStackBytes'] = fields.userStackDynamicSize;
  if (has(PERF_SAMPLE_AUX)) record['auxBytes'] = fields.auxSize;
}
