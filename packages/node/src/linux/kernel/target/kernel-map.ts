import { closeSync, openSync, readFileSync, readSync } from 'node:fs';
import { release } from 'node:os';

/** Where the kernel's own code is. */
export interface KernelMap {
  start: bigint;
  length: bigint;
  /** Symbol by which a reader finds how far the kernel was moved, and its address. */
  anchorName: '_text' | '_stext';
  anchorAddress: bigint;
}

/** One loaded module. */
export interface ModuleMap {
  start: bigint;
  length: bigint;
  /** Its file, or `[name]` where that is not installed. */
  path: string;
}

const CHUNK_BYTES = 64 * 1024;

/**
 * The kernel's text; null where the kernel hides its addresses from this user (they read as 0).
 *
 * /proc/kallsyms has some 100,000 lines, made anew for each reader: `_text` stands near its beginning,
 * but `_etext` near its end, at 60 ms. What `_etext` says, /proc/iomem says in 1 ms to those who may see
 * it: the size of "Kernel code".
 */
export function readKernelMap(
  symbolsPath = '/proc/kallsyms',
  resourcesPath = '/proc/iomem',
): KernelMap | null {
  try {
    const fd = openSync(symbolsPath, 'r');
    try {
      return findKernelMap(fd, parseKernelCodeSize(readText(resourcesPath)));
    } finally {
      closeSync(fd);
    }
  } catch {
    return null;
  }
}

function findKernelMap(fd: number, codeSize: bigint | null): KernelMap | null {
  let anchor: Pick<KernelMap, 'anchorName' | 'anchorAddress'> | null = null;
  for (const lines of symbolLines(fd)) {
    if (anchor === null) {
      const text = symbolAddress(lines, '_text');
      const address = text ?? symbolAddress(lines, '_stext');
      if (address === null) continue;
      if (address === 0n) return null;
      anchor = { anchorName: text === null ? '_stext' : '_text', anchorAddress: address };
    }
    const start = anchor.anchorAddress;
    if (codeSize !== null) return { start, length: codeSize, ...anchor };
    const end = symbolAddress(lines, '_etext');
    if (end !== null) return end > start ? { start, length: end - start, ...anchor } : null;
  }
  return null;
}

/** Pieces of the file that end at the end of a line. */
function* symbolLines(fd: number): Generator<Buffer> {
  const buffer = Buffer.alloc(CHUNK_BYTES);
  let kept = 0;
  for (;;) {
    const size = readSync(fd, buffer, kept, CHUNK_BYTES - kept, null);
    if (size === 0) return;
    const end = buffer.lastIndexOf(0x0a, kept + size - 1) + 1;
    yield buffer.subarray(0, end);
    buffer.copyWithin(0, end, kept + size);
    kept = kept + size - end;
  }
}

/** The address of `ADDRESS TYPE NAME` in some lines, or null. */
function symbolAddress(lines: Buffer, name: string): bigint | null {
  const at = lines.indexOf(` ${name}\n`);
  if (at < 0) return null;
  const line = lines.toString('latin1', lines.lastIndexOf(0x0a, at) + 1, at);
  return BigInt(`0x${line.split(' ', 1)[0]}`);
}

/** `  01000000-022090c7 : Kernel code`; null where the addresses are hidden (all zeros). */
function parseKernelCodeSize(resources: string): bigint | null {
  const match = /^\s*([0-9a-f]+)-([0-9a-f]+) : Kernel code$/m.exec(resources);
  if (match === null) return null;
  const size = BigInt(`0x${match[2]}`) - BigInt(`0x${match[1]}`) + 1n;
  return size > 1n ? size : null;
}

/**
 * Modules from `/proc/modules` text: `name size refs deps state 0xADDRESS`. Empty where addresses are hidden.
 */
export function parseModules(modules: string, files: ReadonlyMap<string, string>): ModuleMap[] {
  const maps: ModuleMap[] = [];
  for (const line of modules.split('\n')) {
    const [name, size, , , , address] = line.split(' ');
    if (address === undefined || !/^0x[0-9a-f]+$/.test(address) || BigInt(address) === 0n) continue;
    maps.push({ start: BigInt(address), length: BigInt(size!), path: files.get(name!) ?? `[${name}]` });
  }
  return maps;
}

/** Module files by module name, from the text of a `modules.dep` under `directory`. */
export function parseModuleFiles(dependencies: string, directory: string): Map<string, string> {
  const files = new Map<string, string>();
  for (const line of dependencies.split('\n')) {
    const path = line.split(':', 1)[0]!;
    const name = /([^/]+)\.ko(\.\w+)?$/.exec(path)?.[1];
    if (name !== undefined) files.set(name.replaceAll('-', '_'), `${directory}/${path}`);
  }
  return files;
}

export function readModules(): ModuleMap[] {
  const modules = readText('/proc/modules');
  if (modules === '') return [];
  const directory = `/lib/modules/${release()}`;
  return parseModules(modules, parseModuleFiles(readText(`${directory}/modules.dep`), directory));
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
