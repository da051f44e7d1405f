import { closeSync, openSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import type { Random } from '../../../core/src/test/random.ts';
import type { V8Layout } from '../linux/sample/v8/v8-layout.ts';

/** Of the image, in a file that has holes elsewhere. */
export const IMAGE_START = 1 << 18;
export const IMAGE_BYTES = 1 << 18;
const OBJECT_BYTES = 64;
const MAP_BYTES = 16;
/** Code begins at multiples of this. */
const CODE_ALIGNMENT = 32;
const USER_STRING_TYPES = [0, 1, 2, 5, 8, 10, 13];

/**
 * Memory that says it is V8's heap, and lies: objects of every type whose fields lead anywhere, above all
 * to each other and to themselves.
 */
export class HostileHeap {
  readonly path: string;
  readonly bytes = new Uint8Array(IMAGE_BYTES);
  readonly view = new DataView(this.bytes.buffer);
  /** Tagged pointers to its objects. */
  objects: bigint[] = [];
  readonly #fd: number;

  constructor(folder: string) {
    this.path = join(folder, 'memory');
    this.#fd = openSync(this.path, 'w');
  }

  fill(random: Random, { types, codeSpace, streamHeaderBytes }: V8Layout): void {
    const all = [...Object.values(types), ...Object.values(codeSpace!.types), ...USER_STRING_TYPES];
    const maps = all.map((type, row) => {
      this.view.setUint16(row * MAP_BYTES + 12, type, true);
      return BigInt(IMAGE_START + row * MAP_BYTES + 1);
    });
    const first = Math.ceil((all.length * MAP_BYTES) / OBJECT_BYTES) * OBJECT_BYTES;
    const count = 16 + random.below(112);
    const shift = (2 * CODE_ALIGNMENT - (streamHeaderBytes % CODE_ALIGNMENT)) % CODE_ALIGNMENT;
    const at = Array.from({ length: count }, (_, row) => first + shift + row * OBJECT_BYTES);
    this.objects = at.map((offset) => BigInt(IMAGE_START + offset + 1));
    for (const offset of at) {
      this.view.setBigUint64(offset, random.pick(maps), true);
      for (let field = 8; field < OBJECT_BYTES; field += 8)
        this.view.setBigUint64(offset + field, this.#word(random, offset + field), true);
    }
    this.write();
  }

  write(): void {
    writeSync(this.#fd, this.bytes, 0, IMAGE_BYTES, IMAGE_START);
  }

  #word(random: Random, offset: number): bigint {
    switch (random.below(8)) {
      case 0:
        return random.u64();
      case 1:
        // As a length: none, negative, or far too large.
        return BigInt.asUintN(
          64,
          BigInt(random.pick([0, 1, 2, 40, -1, 1 << 16, 1 << 20, 0x7fff_ffff])) << 32n,
        );
      case 2:
        return BigInt(random.u32());
      case 3:
        return BigInt(IMAGE_START + (offset & ~(OBJECT_BYTES - 1)) + random.pick([0, 1, 3]));
      case 4:
        return random.pick([0n, 1n, 3n, 0x7fff_ffff_ffffn, 0xffff_ffff_ffff_ffffn, 1n << 63n]);
      default:
        // Weak ones, too.
        return random.pick(this.objects) | (random.oneIn(3) ? 3n : 0n);
    }
  }

  [Symbol.dispose](): void {
    closeSync(this.#fd);
    rmSync(this.path);
  }
}
