import {
  asByteSource,
  type ByteSource,
  type ByteSourceInput,
  CounterpointError,
  checkArgument,
} from '@counterpoint/core/base';
import {
  type ElfFile,
  EM_386,
  EM_X86_64,
  MACHINE_NAMES,
  openElf,
  PT_LOAD,
  type Segment,
} from '@counterpoint/core/elf';
import type { CodeImage } from './code-image.ts';
import type { CodeSource, Placement } from './layer.ts';

/** Processors with Intel PT, by `e_machine`. */
export const X86_MACHINES: readonly number[] = [EM_386, EM_X86_64];

/** Where the segments of an ELF file are in memory, and of which processor they may be. */
export interface ElfPlacement extends Omit<Placement, 'address'> {
  /** Where the lowest segment is in memory; default: where the file says. */
  address?: bigint | null;
  /**
   * `e_machine` of the code that is wanted, as `X86_MACHINES`; code of another is refused. Default: none is.
   */
  machines?: readonly number[];
}

/** All that is read at once of one file; segments beyond are read where they are asked for. */
const MAX_EAGER_BYTES = 256 << 20;

/**
 * Put the loaded segments of an ELF file where they are in memory: those with bytes in the file, code or not
 * (some linkers put both into one). Of large ones, as in a kernel core, only what is asked for is read,
 * through `image.load`; the source must then stay open. `file` may be a `File` that was dropped into a page,
 * or its bytes. Returns the number of segments.
 */
export async function addElf(
  image: CodeImage,
  file: ByteSourceInput,
  placement: ElfPlacement,
): Promise<number> {
  checkArgument({ addSection: 'function' }, 'addElf()', 'the image', image, 'a CodeImage');
  const isPlaced = { name: 'string' };
  checkArgument(isPlaced, 'addElf()', 'placement', placement, 'an object with the name of the file');
  const source = asByteSource(file, placement.name);
  const elf = await openElf(source);
  const { machines } = placement;
  if (machines !== undefined && !machines.includes(elf.machine))
    throw new CounterpointError(
      'ERR_ELF_MACHINE',
      `${placement.name} is code of ${MACHINE_NAMES[elf.machine] ?? 'another processor'} (e_machine ${elf.machine}), but the trace is of another processor`,
      'Give the file of the machine that was traced.',
    );
  const segments = loadedSegments(elf);
  if (segments.length === 0)
    throw new CounterpointError(
      'ERR_NO_SEGMENTS',
      `${placement.name} has no segments with code`,
      'Give the program or library itself: object files (.o) are not placed yet, debug files have no code.',
    );
  const lowest = segments.reduce((least, { address }) => Math.min(least, address), Number.POSITIVE_INFINITY);
  const bias = placement.address == null ? 0n : placement.address - BigInt(lowest);
  let eagerBytes = 0;
  for (const segment of segments) {
    const address = BigInt(segment.address) + bias;
    eagerBytes += segment.fileSize;
    if (eagerBytes > MAX_EAGER_BYTES) {
      image.addSource({ ...placement, address, source, offset: segment.offset, sizeBytes: segment.fileSize });
      continue;
    }
    const bytes = await source.read(segment.offset, segment.fileSize);
    image.addSection({ ...placement, address, bytes });
  }
  return segments.length;
}

/**
 * The running kernel's memory (/proc/kcore): its segments cover far more than there is code, so all of it is
 * read only where it is asked for.
 */
export async function addKernelCore(
  image: CodeImage,
  file: ByteSourceInput,
  placement: Omit<Placement, 'address'>,
): Promise<number> {
  const parts = await kernelCoreParts(asByteSource(file, placement.name), placement);
  for (const part of parts) image.addSource(part);
  return parts.length;
}

/** What `addKernelCore` adds, to make several images with one kernel. */
export async function kernelCoreParts(
  source: ByteSource,
  placement: Omit<Placement, 'address'>,
): Promise<CodeSource[]> {
  return loadedSegments(await openElf(source)).map((segment) => ({
    ...placement,
    address: BigInt(segment.address),
    source,
    offset: segment.offset,
    sizeBytes: segment.fileSize,
  }));
}

function loadedSegments(elf: ElfFile): Segment[] {
  return elf.segments.filter((one) => one.type === PT_LOAD && one.fileSize > 0);
}
