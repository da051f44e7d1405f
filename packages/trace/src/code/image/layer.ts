import type { ByteSource } from '@counterpoint/core/base';
import type { FileRequest } from '@counterpoint/core/symbols';

/** Seen by every address space: the kernel, or code of a trace that knows only one program. */
export const EVERY_ADDRESS_SPACE = -1;

/** Times are nanoseconds on the clock of the trace; without any, code is there always. */
export const FOREVER: number = Number.POSITIVE_INFINITY;

/** Where and when some code was in memory. */
export interface Placement {
  /** Virtual address of the first byte, 64 bits unsigned. */
  address: bigint;
  /** For people: a path, `[vdso]`, the name of a function made at run time. */
  name: string;
  /** In memory from this time on, up to but not including `to`. Default: always. */
  from?: number;
  /** The first time at which it is no longer in memory. Default: it stays. */
  to?: number;
  /** Whatever number the caller tells processes apart by; default EVERY_ADDRESS_SPACE. */
  addressSpace?: number;
}

/** Bytes at hand. */
export interface CodeBytes extends Placement {
  /** The code itself: kept as it is, so do not change it afterwards. */
  bytes: Uint8Array;
}

/** Bytes that are read where they are asked for: kernel core, large files. */
export interface CodeSource extends Placement {
  /** Bytes of code from `offset` on. Where `source` ends earlier, the rest is unknown. */
  sizeBytes: number;
  /** Must stay open while the image is used. */
  source: ByteSource;
  /** Where in `source` the code begins. */
  offset: number;
}

/** Bytes of a file that somebody else must find. */
export interface CodeFile extends Placement {
  /** Bytes of code from `offset` on. Where the file ends earlier, the rest is unknown. */
  sizeBytes: number;
  /** Where in the file the code begins, in bytes: as the offset of a mapping. */
  offset: number;
  /** Which file it is: handed to the function that `load` opens files with. */
  request: FileRequest;
}

/** Memory of which nothing is known: unmapped, or the end of a program that another took the place of. */
export interface CodeHole extends Placement {
  /** Bytes from `address` on. A hole may be as large as half of all memory. */
  sizeBytes: bigint;
}

/** One thing that was added; later ones lie on top. */
export interface CodeLayer {
  /** As its placement says: for people. */
  name: string;
  /** Address of the first byte, 64 bits unsigned. */
  first: bigint;
  /** The last address, so that the end of memory is a number too. */
  last: bigint;
  /** The first time at which it is there; `-Infinity`: always was. */
  from: number;
  /** The first time at which it is no longer there; `Infinity`: stays. */
  to: number;
  /** The process it belongs to, by the caller's number; -1: every one sees it. */
  addressSpace: number;
  /** Null for a hole: nothing is known there. */
  bytes: Uint8Array | null;
}

/** The same, with what an image knows of bytes that are not read yet. */
export interface Layer extends CodeLayer {
  /** How they are to be had; null if there are none. */
  pending: Pending | null;
}

/** What is known of bytes that are not there yet. */
export interface Pending {
  /** Where the bytes are read; null for a file, which is opened anew for each `load`. */
  source: ByteSource | null;
  /** The file that has the bytes; null where there is a source. */
  request: FileRequest | null;
  /** Where in the source or file the layer's first byte is. */
  offset: number;
  /** Parts that somebody asked for, by their number. */
  wanted: Set<number>;
  /** Parts that were read. */
  parts: Map<number, Uint8Array>;
  /** Nobody has the file: not asked for again. */
  isGone: boolean;
}

export function newPending(source: ByteSource | null, request: FileRequest | null, offset: number): Pending {
  return { source, request, offset, wanted: new Set(), parts: new Map(), isGone: false };
}

export const LAST_ADDRESS = 0xffff_ffff_ffff_ffffn;

/** Null where nothing is left of it: no bytes, no time. What reaches beyond the end of memory is cut. */
export function newLayer(
  placement: Placement,
  sizeBytes: bigint,
  bytes: Uint8Array | null,
  pending: Pending | null,
): Layer | null {
  const first = BigInt.asUintN(64, placement.address);
  const from = placement.from ?? -FOREVER;
  const to = placement.to ?? FOREVER;
  if (sizeBytes <= 0n || !(from < to)) return null;
  const end = first + sizeBytes - 1n;
  return {
    name: placement.name,
    first,
    last: end > LAST_ADDRESS ? LAST_ADDRESS : end,
    from,
    to,
    addressSpace: placement.addressSpace ?? EVERY_ADDRESS_SPACE,
    bytes,
    pending,
  };
}
