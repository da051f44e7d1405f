import { BPF_F_MMAPABLE, BPF_MAP_TYPES, BPF_NOEXIST } from '@counterpoint/core/abi';
import { CounterpointError, shownValue } from '@counterpoint/core/base';
import { checkOptions, oneOf, wholeNumberFrom } from '../../../host/options/index.ts';
import { type Fd, type Mapping, type Sys, SysError } from '../sys/index.ts';
import { checkDescriptor, checkIndex } from './checks.ts';
import { explainTooLarge } from './map-limits.ts';
import type { BpfMapDefinition, BpfMapType } from './program.ts';
import { explainRefusal } from './rights.ts';

const PER_CPU: ReadonlySet<BpfMapType> = new Set(['per-cpu-hash', 'per-cpu-array', 'lru-per-cpu-hash']);
/** Types whose batches carry a mark of 4 bytes, whatever the key's size (a bucket of the hash table). */
const LEAST_TOKEN_BYTES = 4;
/**
 * ENOTSUPP of the kernel (not EOPNOTSUPP of user space): what bpf(2) says for an
 * operation that a map type lacks.
 */
const ENOTSUPP = 524;
const BATCH_ELEMENTS = 4096;
/** A batch whose buffers would be larger is not asked for: one bucket of a hash table never holds so much. */
const MOST_BATCH_BYTES = 1 << 28;

/** Elements read at once. *Borrowed*: valid until the next batch. */
export interface BpfBatch {
  /** How many entries there are. */
  readonly count: number;
  /** Key n at `n * keySizeBytes`. */
  readonly keys: Uint8Array<ArrayBuffer>;
  /** Value n at `n * valueBytes`: with per-CPU maps the values of all possible CPUs, one after the other. */
  readonly values: Uint8Array<ArrayBuffer>;
}

/** Owns a map's descriptor. The map is gone when it, its mappings and the programs that use it are closed. */
export class BpfMap implements Disposable {
  /** What the map was made of. */
  readonly definition: BpfMapDefinition;
  /** Its descriptor. */
  readonly fd: Fd;
  /** Values of one element: possible CPUs for a per-CPU map, else 1. */
  readonly copies: number;
  /** From one CPU's value to the next: the kernel rounds per-CPU values up to 8. */
  readonly strideBytes: number;
  /** Of one element as it is read: `copies * strideBytes`. */
  readonly valueBytes: number;
  /** Keys and values that the kernel has copied here so far; who reads mapped values adds them. */
  bytesRead = 0;
  /**
   * Time in system calls that read or change it: meanwhile the kernel runs no program of an
   * overflow on the CPU they are on.
   */
  systemCallNs = 0;
  readonly #sys: Sys;

  /** @internal */
  constructor(sys: Sys, definition: BpfMapDefinition, fd: Fd, possibleCpuCount: number) {
    this.#sys = sys;
    this.definition = definition;
    this.fd = fd;
    const isPerCpu = PER_CPU.has(definition.type);
    this.copies = isPerCpu ? possibleCpuCount : 1;
    this.strideBytes = isPerCpu ? (definition.valueSizeBytes + 7) & ~7 : definition.valueSizeBytes;
    this.valueBytes = this.copies * this.strideBytes;
  }

  /** The value, or null where there is no such key. */
  lookup(key: Uint8Array): Uint8Array<ArrayBuffer> | null {
    const value = new Uint8Array(new ArrayBuffer(this.valueBytes));
    return this.lookupInto(key, value) ? value : null;
  }

  /** False where there is no such key. `value` has `valueBytes`. */
  lookupInto(key: Uint8Array, value: Uint8Array): boolean {
    const isThere = this.#timed(() => this.#sys.bpfMapLookup(this.fd, this.#key(key), this.#value(value)));
    if (isThere) this.bytesRead += this.valueBytes;
    return isThere;
  }

  /** `value` has `valueBytes`: for a per-CPU map every CPU's. */
  update(key: Uint8Array, value: Uint8Array, flags = 0): void {
    this.#timed(() => this.#sys.bpfMapUpdate(this.fd, this.#key(key), this.#value(value), flags));
  }

  /** False where the key is there already. */
  insert(key: Uint8Array, value: Uint8Array): boolean {
    try {
      this.update(key, value, BPF_NOEXIST);
      return true;
    } catch (error) {
      if (error instanceof SysError && error.code === 'EEXIST') return false;
      throw error;
    }
  }

  /** False where there was no such key. */
  delete(key: Uint8Array): boolean {
    return this.#timed(() => this.#sys.bpfMapDelete(this.fd, this.#key(key)));
  }

  /**
   * Keys one by one, with a system call each. Programs may insert and remove meanwhile: a key
   * may then be missed, and when the one that was last given is removed the kernel starts again,
   * so that a key may come twice.
   */
  *keys(): Generator<Uint8Array<ArrayBuffer>> {
    const { keySizeBytes, maxEntries } = this.definition;
    let last: Uint8Array | null = null;
    // A kernel that starts again for ever, because programs insert and remove all the
    // time, does not hold us here.
    for (let given = 0; given < 2 * maxEntries; given++) {
      const next = new Uint8Array(new ArrayBuffer(keySizeBytes));
      if (!this.#sys.bpfMapNextKey(this.fd, last, next)) return;
      yield next;
      last = next;
    }
  }

  /**
   * All elements in batches (Linux 5.6; one by one on older kernels and for types without it). With
   * `lookup-and-delete` an element is read and removed in one step of the kernel, so a count is in this
   * reading or in the next, never in both and never in none.
   *
   * While the kernel reads, perf-event programs do not run on the CPU that reads: overflows there are lost,
   * uncounted. Read seldom, and say `systemCallNs`, or compare what was counted with the event's own count.
   */
  *batches(
    kind: 'lookup' | 'lookup-and-delete' = 'lookup',
    elements: number = BATCH_ELEMENTS,
  ): Generator<BpfBatch> {
    checkOptions(
      'batches()',
      { kind, elements },
      { kind: oneOf('lookup', 'lookup-and-delete'), elements: wholeNumberFrom(1) },
    );
    const { keySizeBytes } = this.definition;
    const token = new Uint8Array(new ArrayBuffer(Math.max(LEAST_TOKEN_BYTES, keySizeBytes)));
    const position = { token, isStarted: false };
    let room = Math.max(1, Math.min(elements, this.definition.maxEntries));
    let keys = new Uint8Array(new ArrayBuffer(room * keySizeBytes));
    let values = new Uint8Array(new ArrayBuffer(room * this.valueBytes));
    for (;;) {
      let result: { count: number; hasMore: boolean };
      try {
        result = this.#timed(() => this.#sys.bpfMapBatch(kind, this.fd, position, keys, values, room));
      } catch (error) {
        if (!(error instanceof SysError)) throw error;
        if (error.code === 'ENOSPC' && room * this.valueBytes < MOST_BATCH_BYTES) {
          // More elements in one bucket than there is room for: nothing was read.
          room *= 2;
          keys = new Uint8Array(new ArrayBuffer(room * keySizeBytes));
          values = new Uint8Array(new ArrayBuffer(room * this.valueBytes));
          continue;
        }
        if (position.isStarted || !isUnsupported(error)) throw error;
        yield* this.#singles(kind);
        return;
      }
      this.bytesRead += result.count * (keySizeBytes + this.valueBytes);
      if (result.count > 0) yield { count: result.count, keys, values };
      if (!result.hasMore) return;
    }
  }

  *#singles(kind: 'lookup' | 'lookup-and-delete'): Generator<BpfBatch> {
    for (const keys of [...this.keys()]) {
      const values = this.lookup(keys);
      if (values === null) continue;
      if (kind === 'lookup-and-delete') this.delete(keys);
      yield { count: 1, keys, values };
    }
  }

  /**
   * Element `index` of an array of 64-bit counters: one number per possible CPU, or one
   * where the map has one for all.
   */
  counters(index: number): number[] {
    const value = this.lookup(indexKey(index));
    if (value === null)
      throw new CounterpointError(
        'ERR_BPF_MAP',
        `map "${this.definition.name}" has no element ${index}`,
        `Give an index below ${this.definition.maxEntries}, of a map of the type array.`,
      );
    const view = new DataView(value.buffer);
    return Array.from({ length: this.copies }, (_, copy) =>
      Number(view.getBigUint64(copy * this.strideBytes, true)),
    );
  }

  /** The sum of `counters`. */
  counter(index: number): number {
    return this.counters(index).reduce((sum, count) => sum + count, 0);
  }

  /**
   * Put the descriptor of a perf event, or of a program, into an array of those; `delete` empties the place.
   */
  putDescriptor(index: number, descriptor: Fd): void {
    checkDescriptor('putDescriptor()', 'the descriptor', descriptor);
    const value = new Uint8Array(new ArrayBuffer(4));
    new DataView(value.buffer).setInt32(0, descriptor.number, true);
    this.update(indexKey(index), value);
  }

  /**
   * The values of an array with BPF_F_MMAPABLE, where they lie: value n at `n *
   * round8(valueSizeBytes)`. Reading them is no system call, so no overflow is lost meanwhile; nor is
   * writing them, where that is asked for.
   */
  mapValues(access: 'read' | 'write' = 'read'): Mapping {
    checkOptions('mapValues()', { access }, { access: oneOf('read', 'write') });
    const { name, type, valueSizeBytes, maxEntries, flags = 0 } = this.definition;
    if (type !== 'array' || (flags & BPF_F_MMAPABLE) === 0) {
      throw new CounterpointError(
        'ERR_BPF_MAP',
        `map "${name}" (${type}) cannot be mapped into memory`,
        'The kernel maps only arrays with BPF_F_MMAPABLE; read other maps with lookup() and batches().',
      );
    }
    const pageBytes = this.#sys.pageSizeBytes();
    const sizeBytes = ((valueSizeBytes + 7) & ~7) * maxEntries;
    return this.#sys.mapRange(this.fd, 0, Math.ceil(sizeBytes / pageBytes) * pageBytes, access);
  }

  /** Closes the descriptor. The kernel keeps the map while a program uses it. Closing twice does nothing. */
  close(): void {
    this.fd.close();
  }

  /** The same as `close()`, for `using`. */
  [Symbol.dispose](): void {
    this.close();
  }

  #timed<Result>(call: () => Result): Result {
    const startedAtMs = performance.now();
    try {
      return call();
    } finally {
      this.systemCallNs += (performance.now() - startedAtMs) * 1e6;
    }
  }

  #key(key: Uint8Array): Uint8Array {
    return this.#sized('key', key, this.definition.keySizeBytes);
  }

  #value(value: Uint8Array): Uint8Array {
    return this.#sized('value', value, this.valueBytes);
  }

  /** The kernel reads and writes as many bytes as the map says, whatever it is given. */
  #sized(what: string, bytes: Uint8Array, sizeBytes: number): Uint8Array {
    if (bytes instanceof Uint8Array && bytes.length === sizeBytes) return bytes;
    const given = bytes instanceof Uint8Array ? `of ${bytes.length} bytes` : `that is ${shownValue(bytes)}`;
    throw new CounterpointError(
      'ERR_BPF_MAP',
      `map "${this.definition.name}": a ${what} ${given} instead of ${sizeBytes}${bytes instanceof Uint8Array ? '' : ' bytes'}`,
      `Give a Uint8Array of ${sizeBytes} bytes.`,
    );
  }
}

/** The key of an array map. */
export function indexKey(index: number): Uint8Array<ArrayBuffer> {
  checkIndex('indexKey()', index);
  const key = new Uint8Array(new ArrayBuffer(4));
  new DataView(key.buffer).setUint32(0, index, true);
  return key;
}

export function createMap(sys: Sys, definition: BpfMapDefinition, possibleCpuCount: number): BpfMap {
  const { name, type, keySizeBytes, valueSizeBytes, maxEntries, flags = 0 } = definition;
  if (type === 'ring-buffer') checkRingSize(name, maxEntries, sys.pageSizeBytes());
  try {
    const number = BPF_MAP_TYPES[type];
    const fd = sys.bpfMapCreate({ name, type: number, keySizeBytes, valueSizeBytes, maxEntries, flags });
    return new BpfMap(sys, definition, fd, possibleCpuCount);
  } catch (error) {
    if (error instanceof SysError && error.code === 'E2BIG')
      throw explainTooLarge(definition, sys.pageSizeBytes(), error);
    throw explainRefusal(sys, `map "${name}" (${type}, ${maxEntries} entries)`, error);
  }
}

function checkRingSize(name: string, sizeBytes: number, pageSizeBytes: number): void {
  if (sizeBytes >= pageSizeBytes && Number.isInteger(Math.log2(sizeBytes))) return;
  throw new CounterpointError(
    'ERR_BPF_RING_SIZE',
    `the ring buffer "${name}" cannot have ${sizeBytes} bytes`,
    `Give its maxEntries in bytes: a power of two, at least a page (${pageSizeBytes}).`,
  );
}

function isUnsupported(error: SysError): boolean {
  return error.errno === ENOTSUPP || error.code === 'EOPNOTSUPP' || error.code === 'EINVAL';
}
