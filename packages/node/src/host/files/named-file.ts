import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  type Stats,
  statfsSync,
  statSync,
} from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { CounterpointError } from '@counterpoint/core/base';

/**
 * open(2): name a file without opening it. Node has no name for it; the number is that of x86-64 and arm64.
 */
const O_PATH = 0o10000000;
const { O_NOFOLLOW, O_RDONLY, O_NONBLOCK, O_NOCTTY } = constants;

/**
 * File systems in which reading or opening a file makes the kernel do something (linux/magic.h): `/proc/kmsg`
 * and `trace_pipe` take messages away from those who wait for them. Their files say that they are regular.
 */
const KERNEL_FILE_SYSTEMS: ReadonlySet<number> = new Set([
  0x9fa0, // proc
  0x62656572, // sysfs
  0x64626720, // debugfs
  0x74726163, // tracefs
  0x73636673, // securityfs
  0x27e0eb, // cgroup
  0x63677270, // cgroup2
  0xcafe4a11, // bpf
  0x62656570, // configfs
  0x65735543, // fusectl
  0x6165676c, // pstore
  0xde5e81e4, // efivarfs
  0x42494e4d, // binfmt_misc
  0xf97cff8c, // selinuxfs
  0x43415d53, // smackfs
  0x1cd1, // devpts
]);

/**
 * A file that is named and not opened: nothing happens to it, whatever it is. What is then opened is what was
 * looked at, even where its name leads elsewhere by now.
 *
 * That takes Linux and its /proc. Without them the name is used again, and another file under
 * it is refused once it is open.
 */
export class NamedFile implements Disposable {
  readonly path: string;
  readonly facts: Stats;
  #fd: number;

  /** With `followLink: false` a link is the file itself. Throws the error of the system call. */
  constructor(path: string, { followLink = true }: { followLink?: boolean } = {}) {
    this.path = path;
    this.#fd = hasPathDescriptors() ? openSync(path, O_PATH | (followLink ? 0 : O_NOFOLLOW)) : -1;
    if (this.#fd >= 0) this.facts = fstatSync(this.#fd);
    else this.facts = followLink ? statSync(path) : lstatSync(path);
  }

  /** Whether the kernel makes its content up, or does something when it is opened. */
  get isOfKernel(): boolean {
    const { type } = statfsSync(this.#place);
    return KERNEL_FILE_SYSTEMS.has(type >>> 0);
  }

  /** A name for nothing but this file. */
  get #place(): string {
    return this.#fd < 0 ? this.path : `/proc/self/fd/${this.#fd}`;
  }

  /** For reading by default. A terminal does not become that of this process. */
  async open(flags: number = O_RDONLY | O_NONBLOCK): Promise<FileHandle> {
    let handle: FileHandle;
    try {
      handle = await open(this.#place, flags | O_NOCTTY);
    } catch (error) {
      throw this.#withPath(error);
    }
    try {
      if (this.#fd < 0) this.#requireSame(await handle.stat());
      return handle;
    } catch (error) {
      await handle.close();
      throw error;
    }
  }

  openSync(flags: number = O_RDONLY | O_NONBLOCK): number {
    let fd: number;
    try {
      fd = openSync(this.#place, flags | O_NOCTTY);
    } catch (error) {
      throw this.#withPath(error);
    }
    try {
      if (this.#fd < 0) this.#requireSame(fstatSync(fd));
      return fd;
    } catch (error) {
      closeSync(fd);
      throw error;
    }
  }

  /** Whether the name still leads to this file; of a link, to the link. */
  isStillThere(): boolean {
    const now = this.facts.isSymbolicLink()
      ? lstatSync(this.path, { throwIfNoEntry: false })
      : statSync(this.path, { throwIfNoEntry: false });
    return now !== undefined && now.dev === this.facts.dev && now.ino === this.facts.ino;
  }

  #requireSame({ dev, ino }: Stats): void {
    if (dev === this.facts.dev && ino === this.facts.ino) return;
    throw new CounterpointError(
      'ERR_FILE_CHANGED',
      `${this.path} was replaced while it was opened`,
      'Try again when nothing writes it any more.',
    );
  }

  /** Errors name the file as it was asked for. */
  #withPath(error: unknown): unknown {
    if (!(error instanceof Error)) return error;
    const place = this.#place;
    error.message = error.message.replace(place, this.path);
    if ((error as NodeJS.ErrnoException).path === place) (error as NodeJS.ErrnoException).path = this.path;
    return error;
  }

  close(): void {
    if (this.#fd >= 0) closeSync(this.#fd);
    this.#fd = -1;
  }

  [Symbol.dispose](): void {
    this.close();
  }
}

let areThere: boolean | null = null;

function hasPathDescriptors(): boolean {
  areThere ??=
    process.platform === 'linux' && lstatSync('/proc/self/fd', { throwIfNoEntry: false }) !== undefined;
  return areThere;
}
