import { closeSync, openSync, readdirSync, readSync, statSync } from 'node:fs';

/** Enough for a first line and for the program headers of an ELF file. */
const BEGINNING_BYTES = 4096;
const EM_386 = 3;
const EM_ARM = 40;
const EM_X86_64 = 62;
const EM_AARCH64 = 183;
/** `e_machine` of what a processor runs, and of what its kernel runs for an older one. */
const MACHINES: Readonly<Record<string, readonly number[]>> = {
  x64: [EM_X86_64, EM_386],
  arm64: [EM_AARCH64, EM_ARM],
};
const ET_EXEC = 2;
const ET_DYN = 3;
const PT_INTERP = 3;

/** What the kernel is asked besides the file: tests give others. */
export interface ExecFacts {
  arch: string;
  /** Whether programs of other formats and processors run here, by an emulator. */
  runsOtherFormats: boolean;
}

/**
 * Why exec(2) would refuse a file that may be executed, or null. It is looked at before anything
 * is started: the exec comes too late to leave an earlier recording alone. Where the file cannot
 * be read, the exec shall tell.
 */
export function formatProblem(file: string, facts: ExecFacts = execFacts()): string | null {
  const bytes = beginning(file);
  if (bytes === null) return null;
  if (bytes.toString('latin1', 0, 2) === '#!') return interpreterProblem(bytes);
  if (facts.runsOtherFormats) return null;
  if (bytes.toString('latin1', 0, 4) === '\x7fELF') return elfProblem(bytes, facts.arch);
  // Text without a first line that says whose: the shell runs it. A zero byte in its
  // first line: no shell would.
  const lineEnd = bytes.indexOf(0x0a);
  const isText = !bytes.subarray(0, lineEnd < 0 ? bytes.length : lineEnd).includes(0);
  return isText ? null : 'it is not a program (exec format error)';
}

/** Whether a file is a program in machine code; a script is none. */
export function isElfProgram(file: string): boolean {
  return beginning(file)?.toString('latin1', 0, 4) === '\x7fELF';
}

function execFacts(): ExecFacts {
  let formats: string[] = [];
  try {
    formats = readdirSync('/proc/sys/fs/binfmt_misc');
  } catch {
    // Not mounted.
  }
  const runsOtherFormats = formats.some((name) => name !== 'register' && name !== 'status');
  return { arch: process.arch, runsOtherFormats };
}

function interpreterProblem(bytes: Buffer): string | null {
  const line = bytes.toString('latin1', 2).split('\n', 1)[0]!;
  const interpreter = line.trimStart().split(/[ \t]/, 1)[0]!;
  if (interpreter.endsWith('\r'))
    return 'its first line ends in a carriage return, as on Windows (remove it: dos2unix)';
  return interpreter === '' ? null : missingProblem('its interpreter', interpreter);
}

function missingProblem(what: string, path: string): string | null {
  const stat = statSync(path, { throwIfNoEntry: false });
  if (stat === undefined) return `${what} ${path} does not exist`;
  return stat.isFile() && (stat.mode & 0o111) !== 0 ? null : `${what} ${path} is not executable`;
}

/** Offsets: elf(5), Elf32_Ehdr and Elf64_Ehdr, Elf32_Phdr and Elf64_Phdr. */
function elfProblem(bytes: Buffer, arch: string): string | null {
  const broken = 'it is not a complete ELF program (exec format error)';
  const is64 = bytes[4] === 2;
  if (bytes.length < (is64 ? 64 : 52) || (bytes[4] !== 1 && !is64)) return broken;
  const machines = MACHINES[arch];
  // Both are little-endian; of others nothing is known here.
  if (machines === undefined) return null;
  if (bytes[5] !== 1 || !machines.includes(bytes.readUInt16LE(18)))
    return `it is a program for another processor (${arch})`;
  if (![ET_EXEC, ET_DYN].includes(bytes.readUInt16LE(16))) return broken;
  const word = (at: number) => (is64 ? Number(bytes.readBigUInt64LE(at)) : bytes.readUInt32LE(at));
  const tableAt = word(is64 ? 32 : 28);
  const size = bytes.readUInt16LE(is64 ? 54 : 42);
  const count = bytes.readUInt16LE(is64 ? 56 : 44);
  for (let i = 0; i < count; i++) {
    const at = tableAt + i * size;
    if (at + (is64 ? 56 : 32) > bytes.length) return null;
    if (bytes.readUInt32LE(at) !== PT_INTERP) continue;
    const nameAt = word(at + (is64 ? 8 : 4));
    const nameEnd = bytes.indexOf(0, nameAt);
    if (nameAt >= bytes.length || nameEnd < 0) return null;
    return missingProblem('its loader', bytes.toString('latin1', nameAt, nameEnd));
  }
  return null;
}

function beginning(file: string): Buffer | null {
  try {
    const fd = openSync(file, 'r');
    try {
      const bytes = Buffer.alloc(BEGINNING_BYTES);
      return bytes.subarray(0, readSync(fd, bytes, 0, BEGINNING_BYTES, 0));
    } finally {
      closeSync(fd);
    }
  } catch {
    return null;
  }
}
