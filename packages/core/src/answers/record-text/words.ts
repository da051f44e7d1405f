import { printable } from '../../base/index.ts';
import {
  PERF_AUX_FLAG_OVERWRITE,
  PERF_AUX_FLAG_PARTIAL,
  PERF_AUX_FLAG_TRUNCATED,
  PERF_RECORD_AUX,
  PERF_RECORD_AUX_OUTPUT_HW_ID,
  PERF_RECORD_BPF_EVENT,
  PERF_RECORD_CGROUP,
  PERF_RECORD_COMM,
  PERF_RECORD_CPU_MAP,
  PERF_RECORD_EVENT_UPDATE,
  PERF_RECORD_EXIT,
  PERF_RECORD_FORK,
  PERF_RECORD_ID_INDEX,
  PERF_RECORD_ITRACE_START,
  PERF_RECORD_KSYMBOL,
  PERF_RECORD_LOST,
  PERF_RECORD_LOST_SAMPLES,
  PERF_RECORD_MISC_COMM_EXEC,
  PERF_RECORD_MISC_MMAP_BUILD_ID,
  PERF_RECORD_MISC_MMAP_DATA,
  PERF_RECORD_MISC_SWITCH_OUT,
  PERF_RECORD_MISC_SWITCH_OUT_PREEMPT,
  PERF_RECORD_MMAP,
  PERF_RECORD_MMAP2,
  PERF_RECORD_NAMESPACES,
  PERF_RECORD_SWITCH,
  PERF_RECORD_SWITCH_CPU_WIDE,
  PERF_RECORD_TEXT_POKE,
  PERF_RECORD_THREAD_MAP,
  recordTypeName,
} from '../../format/abi/index.ts';
import type {
  AuxRecord,
  ExitRecord,
  ForkRecord,
  Mmap2Record,
  MmapRecord,
  NamespacesRecord,
  PerfRecord,
  TextPokeRecord,
} from '../../format/records/index.ts';
import { cpuMapWords, updateWords } from './map-words.ts';

/** C's `%#lx`: 0 has no prefix. */
export function hexOf(value: bigint | number): string {
  return value === 0n || value === 0 ? '0' : `0x${BigInt.asUintN(64, BigInt(value)).toString(16)}`;
}

/**
 * `PERF_RECORD_` with its type and what it says, in the form of perf 6.1; of a record whose fields perf has
 * no words for, the type alone. More than one line for some.
 */
export function recordText(record: PerfRecord, littleEndian = true): string {
  return `PERF_RECORD_${recordTypeName(record.type)}${wordsOf(record, littleEndian)}`;
}

function wordsOf(given: PerfRecord, littleEndian: boolean): string {
  if ('raw' in given || 'sample' in given) return '';
  const record = given;
  switch (record.type) {
    case PERF_RECORD_COMM: {
      const exec = (record.misc & PERF_RECORD_MISC_COMM_EXEC) !== 0 ? ' exec' : '';
      return `${exec}: ${printable(record.comm)}:${record.pid}/${record.tid}`;
    }
    case PERF_RECORD_MMAP:
    case PERF_RECORD_MMAP2:
      return mapping(record);
    case PERF_RECORD_FORK:
    case PERF_RECORD_EXIT:
      return family(record);
    case PERF_RECORD_LOST:
      return ` lost ${record.lost}`;
    case PERF_RECORD_LOST_SAMPLES:
      return ` lost ${record.lost}`;
    case PERF_RECORD_SWITCH:
      return ` ${direction(record.misc)}`;
    case PERF_RECORD_SWITCH_CPU_WIDE: {
      const other = (record.misc & PERF_RECORD_MISC_SWITCH_OUT) !== 0 ? 'next' : 'prev';
      const { nextOrPreviousPid: pid, nextOrPreviousTid: tid } = record;
      return ` ${direction(record.misc)}  ${other} pid/tid: ${String(pid).padStart(5)}/${String(tid).padEnd(5)}`;
    }
    case PERF_RECORD_AUX:
      return auxiliary(record);
    case PERF_RECORD_ITRACE_START:
      return ` pid: ${record.pid} tid: ${record.tid}`;
    case PERF_RECORD_AUX_OUTPUT_HW_ID:
      return ` hw_id: ${hexOf(record.hardwareId)}`;
    case PERF_RECORD_NAMESPACES:
      return namespaces(record);
    case PERF_RECORD_KSYMBOL: {
      const { address, length, symbolType, flags, symbol } = record;
      const place = `addr ${address.toString(16)} len ${length}`;
      return ` ${place} type ${symbolType} flags 0x${flags.toString(16)} name ${printable(symbol)}`;
    }
    case PERF_RECORD_BPF_EVENT:
      return ` type ${record.eventType}, flags ${record.flags}, id ${record.id}`;
    case PERF_RECORD_CGROUP:
      return ` cgroup: ${record.id} ${printable(record.path)}`;
    case PERF_RECORD_TEXT_POKE:
      return codeChange(record);
    case PERF_RECORD_THREAD_MAP: {
      const threads = record.entries.map(({ pid, comm }) => {
        const name = comm === '' ? '' : `(${printable(comm)})`;
        return ` thread: ${BigInt.asIntN(64, pid)}${name}`;
      });
      return ` nr: ${record.entries.length}${threads.join('')}`;
    }
    case PERF_RECORD_EVENT_UPDATE:
      return updateWords(record, littleEndian);
    case PERF_RECORD_CPU_MAP:
      return cpuMapWords(record, littleEndian);
    case PERF_RECORD_ID_INDEX: {
      const lines = record.entries.map(
        ({ id, index, cpu, tid }) =>
          `\n ... id: ${id}  idx: ${index}  cpu: ${BigInt.asIntN(64, cpu)}  tid: ${BigInt.asIntN(64, tid)}`,
      );
      return ` nr: ${record.entries.length}${lines.join('')}`;
    }
    default:
      return '';
  }
}

function mapping(record: MmapRecord | Mmap2Record): string {
  const range = `[${hexOf(record.start)}(${hexOf(record.length)}) @ ${hexOf(record.pageOffset)}`;
  const owner = `${record.pid}/${record.tid}`;
  const path = printable(record.path);
  if (record.type === PERF_RECORD_MMAP)
    return ` ${owner}: ${range}]: ${(record.misc & PERF_RECORD_MISC_MMAP_DATA) !== 0 ? 'r' : 'x'} ${path}`;
  return ` ${owner}: ${range} ${fileOf(record)}]: ${protectionText(record)} ${path}`;
}

function fileOf(record: Mmap2Record): string {
  if ((record.misc & PERF_RECORD_MISC_MMAP_BUILD_ID) === 0) {
    const device = [record.major ?? 0, record.minor ?? 0]
      .map((part) => part.toString(16).padStart(2, '0'))
      .join(':');
    return `${device} ${record.inode ?? 0} ${record.inodeGeneration ?? 0}`;
  }
  return `<${hexBytes((record.buildId ?? new Uint8Array()).subarray(0, record.buildIdSize ?? 20), '')}>`;
}

/** `r-xp`, by PROT_READ, PROT_WRITE, PROT_EXEC and MAP_SHARED. */
export function protectionText({ protection, flags }: { protection: number; flags: number }): string {
  const bits = ['r', 'w', 'x'].map((letter, bit) => ((protection & (1 << bit)) !== 0 ? letter : '-'));
  return `${bits.join('')}${(flags & 1) !== 0 ? 's' : 'p'}`;
}

function family({ pid, tid, ppid, ptid }: ForkRecord | ExitRecord): string {
  return `(${pid}:${tid}):(${ppid}:${ptid})`;
}

function direction(misc: number): string {
  if ((misc & PERF_RECORD_MISC_SWITCH_OUT) === 0) return 'IN         ';
  return (misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT) !== 0 ? 'OUT preempt' : 'OUT        ';
}

function auxiliary({ auxOffset, auxSize, flags }: AuxRecord): string {
  const letters = [
    [PERF_AUX_FLAG_TRUNCATED, 'T'],
    [PERF_AUX_FLAG_OVERWRITE, 'O'],
    [PERF_AUX_FLAG_PARTIAL, 'P'],
  ] as const;
  const set = letters.filter(([bit]) => (flags & BigInt(bit)) !== 0n).map(([, letter]) => letter);
  return ` offset: ${hexOf(auxOffset)} size: ${hexOf(auxSize)} flags: ${hexOf(flags)} [${set.join('')}]`;
}

/** In the kernel's order (`enum` of perf_event.h). */
const NAMESPACES = ['net', 'uts', 'ipc', 'pid', 'user', 'mnt', 'cgroup'] as const;
const NAMESPACES_IN_A_LINE = 4;

function namespaces({ pid, tid, links }: NamespacesRecord): string {
  let text = ` ${pid}/${tid} - nr_namespaces: ${links.length}\n\t\t[`;
  links.forEach(({ device, inode }, index) => {
    if (index > 0 && index % NAMESPACES_IN_A_LINE === 0) text += '\n\t\t ';
    const end = index + 1 < links.length ? ', ' : ']';
    text += `${index}/${NAMESPACES[index] ?? 'unknown'}: ${device}/${hexOf(inode)}${end}`;
  });
  return text;
}

function codeChange({ address, oldLength, newLength, code }: TextPokeRecord): string {
  const text = ` addr 0x${address.toString(16)} old len ${oldLength} new len ${newLength}`;
  const before = hexBytes(code.subarray(0, oldLength), ' ');
  const after = hexBytes(code.subarray(oldLength, oldLength + newLength), ' ');
  return `${text}\n     old bytes: ${before}\n     new bytes: ${after}`;
}

/** Two digits a byte. */
export function hexBytes(bytes: Uint8Array, between: string): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join(between);
}
