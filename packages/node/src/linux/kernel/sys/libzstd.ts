import { addressOf, openLibrary } from './ffi.ts';

const SONAME = 'libzstd.so.1';

/** `ZSTD_cParameter`, `ZSTD_EndDirective` of zstd.h. */
const COMPRESSION_LEVEL = 100;
const FLUSH = 1;
/** A multiple of what a block can come to (128 KiB and some). */
const OUTPUT_BYTES = 512 * 1024;

/** One Zstandard frame that never ends, by the system's library. */
export interface ZstdContext extends Disposable {
  /** All of `bytes`, and whatever was before, as compressed pieces. */
  compress(bytes: Uint8Array): Uint8Array<ArrayBuffer>[];
}

/** `null` where the library is not installed, or lacks what zstd 1.4 has. */
export function openZstdContext(level: number): ZstdContext | null {
  const functionOf = openLibrary(SONAME);
  if (functionOf === null) return null;
  try {
    return new LibraryContext(functionOf, level);
  } catch {
    return null;
  }
}

/** `{ void *memory; size_t size; size_t position }`, as ZSTD_inBuffer and ZSTD_outBuffer are. */
function span(bytes: Uint8Array): BigUint64Array {
  return BigUint64Array.of(addressOf(bytes), BigInt(bytes.length), 0n);
}

class LibraryContext implements ZstdContext {
  readonly #compressStream: (context: bigint, output: BigUint64Array, input: BigUint64Array) => bigint;
  readonly #isError: (code: bigint) => boolean;
  readonly #output = new Uint8Array(OUTPUT_BYTES);
  readonly #free: () => void;
  readonly #context: bigint;
  #isFreed = false;

  constructor(functionOf: NonNullable<ReturnType<typeof openLibrary>>, level: number) {
    const create = functionOf('uint64_t ZSTD_createCCtx(void)');
    const free = functionOf('size_t ZSTD_freeCCtx(uint64_t context)');
    const setParameter = functionOf('size_t ZSTD_CCtx_setParameter(uint64_t context, int name, int value)');
    const isError = functionOf('uint ZSTD_isError(size_t code)');
    const stream = functionOf(
      'size_t ZSTD_compressStream2(uint64_t context, void *output, void *input, int end)',
    );
    this.#context = BigInt(create());
    this.#free = () => void free(this.#context);
    this.#isError = (code) => Number(isError(code)) !== 0;
    this.#compressStream = (context, output, input) => BigInt(stream(context, output, input, FLUSH));
    setParameter(this.#context, COMPRESSION_LEVEL, level);
  }

  compress(bytes: Uint8Array): Uint8Array<ArrayBuffer>[] {
    const pieces: Uint8Array<ArrayBuffer>[] = [];
    const input = span(bytes);
    // What it returns is how much is left to flush.
    for (let left = 1n; left !== 0n || input[2]! < input[1]!; ) {
      const output = span(this.#output);
      left = this.#compressStream(this.#context, output, input);
      if (this.#isError(left)) throw new Error(`libzstd refuses to compress (${left})`);
      if (output[2] !== 0n) pieces.push(this.#output.slice(0, Number(output[2])));
    }
    return pieces;
  }

  [Symbol.dispose](): void {
    if (this.#isFreed) return;
    this.#isFreed = true;
    this.#free();
  }
}
