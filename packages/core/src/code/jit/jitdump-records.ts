/** A line of source, from `address` to that of the next. */
export interface JitLine {
  /** First byte of code that belongs to the line. */
  address: bigint;
  /** From 1, as the runtime writes it. */
  line: number;
  /** Tells several pieces of code of one line apart; 0 where the runtime does not. */
  discriminator: number;
  /** Path of the source, as the runtime names it; empty where the runtime overwrote it (`jitdump-name`). */
  file: string;
}

/** New code; what was at its place before is gone. */
export interface JitCodeLoad {
  /** JIT_CODE_LOAD. */
  kind: 'load';
  /** When the code was there: on the clock that `JitDump.hasArchTimes` says. */
  time: number;
  /** The process that made it. */
  pid: number;
  /** The thread that made it. */
  tid: number;
  /** Virtual address of the first byte. */
  address: bigint;
  /** The same for all records about this code. */
  codeIndex: bigint;
  /** Of the function: UTF-8 in the file. */
  name: string;
  /** View into the dump; empty where only the name was written. */
  code: Uint8Array;
  /** Of the code, also where its bytes were not written. */
  sizeBytes: number;
}

/** JIT_CODE_MOVE: code that was loaded is at another address now. */
export interface JitCodeMove {
  /** JIT_CODE_MOVE. */
  kind: 'move';
  /** When it moved: on the clock that `JitDump.hasArchTimes` says. */
  time: number;
  /** The process whose code it is. */
  pid: number;
  /** The thread that moved it. */
  tid: number;
  /** Virtual address of its first byte before. */
  oldAddress: bigint;
  /** Virtual address of its first byte from now on. */
  newAddress: bigint;
  /** Of the code. Not limited by the size of the file: check it before you use it. */
  sizeBytes: bigint;
  /** That of its load. */
  codeIndex: bigint;
}

/** Source lines of code: comes before the load of it. */
export interface JitDebugInfo {
  /** JIT_CODE_DEBUG_INFO. */
  kind: 'debug-info';
  /** On the clock that `JitDump.hasArchTimes` says. */
  time: number;
  /** Of the code: that of the load that follows. */
  address: bigint;
  /** As they are written: most runtimes sort them by address. */
  lines: JitLine[];
}

/** .eh_frame_hdr and .eh_frame of the next code that is loaded. */
export interface JitUnwinding {
  /** JIT_CODE_UNWINDING_INFO. */
  kind: 'unwinding';
  /** On the clock that `JitDump.hasArchTimes` says. */
  time: number;
  /** Size of `.eh_frame_hdr`. */
  headerBytes: number;
  /** How much of it is in the memory of the process; 0: only in the dump. */
  mappedBytes: number;
  /** The bytes of both. View into the dump. */
  data: Uint8Array;
}

/** JIT_CODE_CLOSE: the runtime ended in good order. */
export interface JitClose {
  /** JIT_CODE_CLOSE. */
  kind: 'close';
  /** On the clock that `JitDump.hasArchTimes` says. */
  time: number;
}

/** A type of record that this reader does not know. */
export interface JitRaw {
  /** Any other number. */
  kind: 'raw';
  /** On the clock that `JitDump.hasArchTimes` says. */
  time: number;
  /** The number of the type, as written. */
  type: number;
  /** What follows the record's header of 16 bytes. View into the dump. */
  body: Uint8Array;
}

/** A record of a jitdump: `kind` tells which. */
export type JitRecord = JitCodeLoad | JitCodeMove | JitDebugInfo | JitUnwinding | JitClose | JitRaw;
