import { createRequire } from 'node:module';
import { isMainThread } from 'node:worker_threads';
import { CounterpointError } from '@counterpoint/core/base';
import type * as Koffi from 'koffi';
import { requireLinux } from './linux.ts';
import { type CallArguments, SysError } from './sys-error.ts';

/**
 * The only file that knows the FFI library. It is loaded at the first call, so that verbs that call nothing
 * (help, report) never pay for it. `node:ffi` can take its place here once it is stable.
 */

export type NativeArgument = number | bigint | string | ArrayBufferView | null;
export type NativeFunction = (...args: NativeArgument[]) => number | bigint;

let library: { koffi: typeof Koffi; libc: Koffi.LibraryHandle } | null = null;

function load(): { koffi: typeof Koffi; libc: Koffi.LibraryHandle } {
  if (library === null) {
    const koffi = requireKoffi();
    // Node itself is linked to the C library, whichever it is (glibc, musl).
    library = { koffi, libc: koffi.load(null) };
    if (!isMainThread) for (const bind of binders) bind();
  }
  return library;
}

/**
 * One for each function. Binding one while a worker is terminated ends the whole process (koffi 3.3), and
 * that may be at any time, so a worker binds all of them (2 ms) at its first call.
 */
const binders: (() => void)[] = [];

/** Where the library is, for a program of its own. */
export function libraryPath(): string {
  return createRequire(import.meta.url).resolve('koffi');
}

function requireKoffi(): typeof Koffi {
  requireLinux('this');
  try {
    return createRequire(import.meta.url)('koffi');
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    const isAbsent = code === 'MODULE_NOT_FOUND' && message.includes("'koffi'");
    const why = isAbsent ? 'is not installed' : `cannot be loaded: ${message.split('\n', 1)[0]}`;
    const remedy = isAbsent
      ? 'It is an optional dependency: npm install --include=optional'
      : 'Its build for this platform is missing or is for another platform: run npm rebuild koffi, or install again on this machine.';
    const text = `the library that calls the kernel (koffi) ${why}; reading recordings works without it`;
    const error = new CounterpointError('ERR_FFI', text, remedy);
    error.cause = cause;
    throw error;
  }
}

/**
 * A function of the C library by its prototype; bound when it is first called, in a
 * worker when the first of all is.
 */
export function libc(prototype: string): NativeFunction {
  let bound: NativeFunction | null = null;
  const bind = (): NativeFunction => {
    bound ??= load().libc.func(prototype) as NativeFunction;
    return bound;
  };
  binders.push(bind);
  if (library !== null && !isMainThread) bind();
  return (...args) => (bound ?? bind())(...args);
}

export function lastErrno(): number {
  return load().koffi.errno();
}

/** The result of a call that says -1 when it failed. */
export function checked(result: number | bigint, call: string, args: CallArguments): number {
  const value = Number(result);
  if (value < 0) throw new SysError(call, lastErrno(), args);
  return value;
}

/** Memory at `address` as it is, without a copy. */
export function viewMemory(address: bigint, sizeBytes: number): ArrayBuffer {
  return load().koffi.view(address, sizeBytes);
}

let intFunction: Koffi.TypeObject | null = null;

/** Machine code at `address` that takes nothing and gives an int. Valid while the code is mapped. */
export function functionAt(address: bigint): () => number {
  const { koffi } = load();
  intFunction ??= koffi.proto('int', []);
  return koffi.decode(address, intFunction);
}

/** Where a function of the C library is, for machine code that calls it. */
export function symbolAddress(name: string): bigint {
  const { koffi, libc } = load();
  return koffi.address(libc.symbol(name));
}

/** Where memory is, for structures that point to it. It stays there while the view is reachable. */
export function addressOf(view: ArrayBufferView): bigint {
  return load().koffi.address(view);
}

/** The NUL-terminated text at `address`; empty for NULL. */
export function textAt(address: bigint): string {
  return address === 0n ? '' : (load().koffi.decode(address, 'char', -1) as string);
}

/** A shared library of the system by its soname; `null` where it is not installed. */
export function openLibrary(soname: string): ((prototype: string) => NativeFunction) | null {
  try {
    const opened = load().koffi.load(soname);
    return (prototype) => opened.func(prototype) as NativeFunction;
  } catch (error) {
    if (error instanceof CounterpointError) throw error;
    return null;
  }
}

export interface DescriptorWatch {
  close(): void;
}

/**
 * Call back from the event loop whenever `fd` is readable. It waits in the loop's own epoll
 * (libuv's `uv_poll`): no thread is held, and nothing is spent while nothing happens. The
 * descriptor must stay open until `close`.
 */
export function watchDescriptor(fd: number, onReadable: () => void): DescriptorWatch {
  return load().koffi.node.poll(fd, { readable: true }, onReadable);
}
