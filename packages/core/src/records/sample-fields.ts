/**
 * The parts of one sample, reused from record to record (*borrowed*: valid until the next decode). 64-bit values are
 * unsigned lo/hi halves. Variable parts are offsets into the same view, 0 where absent.
 */
export class SampleFields {
  idLo = 0;
  idHi = 0;
  ipLo = 0;
  ipHi = 0;
  pid = -1;
  tid = -1;
  timeLo = 0;
  timeHi = 0;
  addrLo = 0;
  addrHi = 0;
  streamIdLo = 0;
  streamIdHi = 0;
  cpu = -1;
  periodLo = 0;
  periodHi = 0;
  /** PERF_SAMPLE_READ values in the attr's read format. */
  readOffset = 0;
  /** First address of the call chain (after its count). */
  chainOffset = 0;
  chainCount = 0;
  rawOffset = 0;
  rawSize = 0;
  /** First branch entry; 24 bytes each: from, to, flags. */
  branchOffset = 0;
  branchCount = 0;
  branchHwIndexLo = 0;
  branchHwIndexHi = 0;
  /** First counter word of the branch entries. */
  branchCountersOffset = 0;
  userRegsAbi = 0;
  userRegsOffset = 0;
  userStackOffset = 0;
  userStackSize = 0;
  /** How much of the copied stack is real. */
  userStackDynamicSize = 0;
  weightLo = 0;
  weightHi = 0;
  dataSourceLo = 0;
  dataSourceHi = 0;
  transactionLo = 0;
  transactionHi = 0;
  interruptRegsAbi = 0;
  interruptRegsOffset = 0;
  physicalAddrLo = 0;
  physicalAddrHi = 0;
  cgroupLo = 0;
  cgroupHi = 0;
  dataPageSizeLo = 0;
  dataPageSizeHi = 0;
  codePageSizeLo = 0;
  codePageSizeHi = 0;
  auxOffset = 0;
  auxSize = 0;
  /** Where the known parts end; what follows is a newer kernel's. */
  end = 0;
  /** Which fields the last decode has set: the layout's `shape`. */
  shape = -1;

  /** Every field to its default. */
  reset(): void {
    Object.assign(this, DEFAULTS);
  }
}

const DEFAULTS = new SampleFields();
