/**
 * The parts of one sample. One object serves all records (*borrowed*: its values are valid until the next
 * decode). 64-bit values are two unsigned halves, low and high. Parts of variable size are offsets into the
 * same view, or 0 if the sample has none.
 */
export class SampleFields {
  /** Low half of the event's id (IDENTIFIER or ID). */
  idLo = 0;
  /** High half of the event's id (IDENTIFIER or ID). */
  idHi = 0;
  /** Low half of the address of the instruction (IP). */
  ipLo = 0;
  /** High half of the address of the instruction (IP). */
  ipHi = 0;
  /** Process (TID). -1 if the sample does not tell. */
  pid = -1;
  /** Thread (TID). -1 if the sample does not tell. */
  tid = -1;
  /** Low half of the time in nanoseconds (TIME). */
  timeLo = 0;
  /** High half of the time in nanoseconds (TIME). */
  timeHi = 0;
  /** Low half of the address of the data (ADDR). */
  addrLo = 0;
  /** High half of the address of the data (ADDR). */
  addrHi = 0;
  /** Low half of the id of the event itself (STREAM_ID). */
  streamIdLo = 0;
  /** High half of the id of the event itself (STREAM_ID). */
  streamIdHi = 0;
  /** Number of the CPU (CPU). -1 if the sample does not tell. */
  cpu = -1;
  /** Low half of the events that the sample stands for (PERIOD). */
  periodLo = 0;
  /** High half of the events that the sample stands for (PERIOD). */
  periodHi = 0;
  /** First byte of the counts, in the attr's read format (READ). */
  readOffset = 0;
  /** First address of the call chain (after its count). */
  chainOffset = 0;
  /** Words of the call chain, of 8 bytes each, markers included (CALLCHAIN). */
  chainCount = 0;
  /** First byte of the raw data, after its size (RAW). */
  rawOffset = 0;
  /** Bytes of the raw data, the kernel's padding included. */
  rawSize = 0;
  /** First entry of the branch stack. An entry has 24 bytes: from, to, flags. */
  branchOffset = 0;
  /** Entries of the branch stack (BRANCH_STACK). */
  branchCount = 0;
  /** Low half of the place of the newest branch in the CPU's table (BRANCH_HW_INDEX). */
  branchHwIndexLo = 0;
  /** High half of the place of the newest branch in the CPU's table (BRANCH_HW_INDEX). */
  branchHwIndexHi = 0;
  /** First word of the counters that belong to the branch entries. */
  branchCountersOffset = 0;
  /** Kind of the user registers, PERF_SAMPLE_REGS_ABI_* (REGS_USER); 0: there are none. */
  userRegsAbi = 0;
  /** First of `SampleLayout.userRegisterCount` words; 0 if there are none. */
  userRegsOffset = 0;
  /** First byte of the copied user stack (STACK_USER). */
  userStackOffset = 0;
  /** Bytes of the copied user stack, with those after the real ones. */
  userStackSize = 0;
  /** How many bytes of the copied stack are real. They start at the stack pointer. */
  userStackDynamicSize = 0;
  /** Low half of the cost (WEIGHT, WEIGHT_STRUCT). */
  weightLo = 0;
  /** High half of the cost (WEIGHT, WEIGHT_STRUCT). */
  weightHi = 0;
  /** Low half of where data came from (DATA_SRC). */
  dataSourceLo = 0;
  /** High half of where data came from (DATA_SRC). */
  dataSourceHi = 0;
  /** Low half of why a transaction aborted (TRANSACTION). */
  transactionLo = 0;
  /** High half of why a transaction aborted (TRANSACTION). */
  transactionHi = 0;
  /** Kind of the registers at the interrupt, PERF_SAMPLE_REGS_ABI_* (REGS_INTR); 0: there are none. */
  interruptRegsAbi = 0;
  /** First of `SampleLayout.interruptRegisterCount` words; 0 if there are none. */
  interruptRegsOffset = 0;
  /** Low half of the physical address of the data (PHYS_ADDR). */
  physicalAddrLo = 0;
  /** High half of the physical address of the data (PHYS_ADDR). */
  physicalAddrHi = 0;
  /** Low half of the id of the cgroup (CGROUP). */
  cgroupLo = 0;
  /** High half of the id of the cgroup (CGROUP). */
  cgroupHi = 0;
  /** Low half of the data's page size in bytes (DATA_PAGE_SIZE). */
  dataPageSizeLo = 0;
  /** High half of the data's page size in bytes (DATA_PAGE_SIZE). */
  dataPageSizeHi = 0;
  /** Low half of the code's page size in bytes (CODE_PAGE_SIZE). */
  codePageSizeLo = 0;
  /** High half of the code's page size in bytes (CODE_PAGE_SIZE). */
  codePageSizeHi = 0;
  /** First byte of the hardware trace (AUX). */
  auxOffset = 0;
  /** Bytes of the hardware trace. */
  auxSize = 0;
  /** Where the known parts end. What follows comes from a newer kernel. */
  end = 0;
  /** Which fields the last decode has set: the layout's `shape`. */
  shape = -1;

  /**
   * Sets every field to its default. The fields are written out for speed: if samples of two shapes
   * alternate, this runs for each sample.
   */
  reset(): void {
    this.pid = this.tid = this.cpu = this.shape = -1;
    this.idLo =
      this.idHi =
      this.ipLo =
      this.ipHi =
      this.timeLo =
      this.timeHi =
      this.addrLo =
      this.addrHi =
      this.streamIdLo =
      this.streamIdHi =
      this.periodLo =
      this.periodHi =
      this.readOffset =
      this.chainOffset =
      this.chainCount =
      this.rawOffset =
      this.rawSize =
      this.branchOffset =
      this.branchCount =
      this.branchHwIndexLo =
      this.branchHwIndexHi =
      this.branchCountersOffset =
      this.userRegsAbi =
      this.userRegsOffset =
      this.userStackOffset =
      this.userStackSize =
      this.userStackDynamicSize =
      this.weightLo =
      this.weightHi =
      this.dataSourceLo =
      this.dataSourceHi =
      this.transactionLo =
      this.transactionHi =
      this.interruptRegsAbi =
      this.interruptRegsOffset =
      this.physicalAddrLo =
      this.physicalAddrHi =
      this.cgroupLo =
      this.cgroupHi =
      this.dataPageSizeLo =
      this.dataPageSizeHi =
      this.codePageSizeLo =
      this.codePageSizeHi =
      this.auxOffset =
      this.auxSize =
      this.end =
        0;
  }
}
