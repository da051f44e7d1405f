/**
 * The parts of one sample, reused from record to record (*borrowed*: valid until the next decode). 64-bit
 * values are unsigned lo/hi halves. Variable parts are offsets into the same view, 0 where absent.
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

  /**
   * Every field to its default. Written out: samples of events of two shapes alternate,
   * and this runs at each change.
   */
  reset(): void {
    this.idLo = this.idHi = 0;
    this.ipLo = this.ipHi = 0;
    this.pid = -1;
    this.tid = -1;
    this.timeLo = this.timeHi = 0;
    this.addrLo = this.addrHi = 0;
    this.streamIdLo = this.streamIdHi = 0;
    this.cpu = -1;
    this.periodLo = this.periodHi = 0;
    this.readOffset = 0;
    this.chainOffset = 0;
    this.chainCount = 0;
    this.rawOffset = 0;
    this.rawSize = 0;
    this.branchOffset = 0;
    this.branchCount = 0;
    this.branchHwIndexLo = this.branchHwIndexHi = 0;
    this.branchCountersOffset = 0;
    this.userRegsAbi = 0;
    this.userRegsOffset = 0;
    this.userStackOffset = 0;
    this.userStackSize = 0;
    this.userStackDynamicSize = 0;
    this.weightLo = this.weightHi = 0;
    this.dataSourceLo = this.dataSourceHi = 0;
    this.transactionLo = this.transactionHi = 0;
    this.interruptRegsAbi = 0;
    this.interruptRegsOffset = 0;
    this.physicalAddrLo = this.physicalAddrHi = 0;
    this.cgroupLo = this.cgroupHi = 0;
    this.dataPageSizeLo = this.dataPageSizeHi = 0;
    this.codePageSizeLo = this.codePageSizeHi = 0;
    this.auxOffset = 0;
    this.auxSize = 0;
    this.end = 0;
    this.shape = -1;
  }
}
