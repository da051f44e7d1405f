import { BPF_COMMANDS, BPF_NAME_LENGTH, type BpfCommandName } from '@counterpoint/core/abi';
import { adopt } from './adopt.ts';
import { addressOf, checked, lastErrno, libc } from './ffi.ts';
import type { Fd } from './handles.ts';
import { withoutSignals } from './signal-mask.ts';
import type { BpfCalls, BpfObjectKind } from './sys.ts';
import { type CallArguments, SysError } from './sys-error.ts';
import { syscallNumbers } from './syscall-numbers.ts';

// The last two arguments are not the kernel's: memory that `attr` points to
// stays where it is during the call.
const syscallBpf = libc(
  'long syscall(long number, long command, void *attr, long sizeBytes, void *first, void *second)',
);

/**
 * Through `expected_attach_type` at 68, the last field that is used here, and more. The kernel takes every
 * size, of zeros beyond its own.
 */
const ATTR_BYTES = 128;
const ENOENT = 2;
const EAGAIN = 11;

/** `union bpf_attr`: fields of the command written one by one, at the offsets of linux/bpf.h. */
class Attr {
  readonly bytes = new Uint8Array(new ArrayBuffer(ATTR_BYTES));
  readonly view = new DataView(this.bytes.buffer);

  u32(offset: number, value: number): this {
    this.view.setUint32(offset, value, true);
    return this;
  }

  pointer(offset: number, memory: ArrayBufferView | null): this {
    this.view.setBigUint64(offset, memory === null ? 0n : addressOf(memory), true);
    return this;
  }

  /** `char name[BPF_OBJ_NAME_LEN]`, with the NUL: 15 characters of those that the kernel takes. */
  name(offset: number, name: string): this {
    const taken = name.replaceAll(/[^A-Za-z0-9_.]/g, '_').slice(0, BPF_NAME_LENGTH);
    this.bytes.set(new TextEncoder().encode(taken), offset);
    return this;
  }
}

/** A NUL-terminated text in memory that does not move. */
function cText(text: string): Uint8Array {
  const encoded = new TextEncoder().encode(text);
  const bytes = new Uint8Array(new ArrayBuffer(encoded.length + 1));
  bytes.set(encoded);
  return bytes;
}

/** Below 0 failed: the errno is the C library's. */
function ask(
  command: BpfCommandName,
  attr: Attr,
  first: ArrayBufferView | null = null,
  second: ArrayBufferView | null = null,
): number {
  const number = syscallNumbers().bpf;
  return Number(syscallBpf(number, BPF_COMMANDS[command], attr.bytes, ATTR_BYTES, first, second));
}

function must(
  command: BpfCommandName,
  about: CallArguments,
  attr: Attr,
  first: ArrayBufferView | null = null,
  second: ArrayBufferView | null = null,
): number {
  return checked(ask(command, attr, first, second), `bpf ${command}`, about);
}

/**
 * False where the kernel says that there is no such thing; a link that somebody is
 * just making is none yet (EAGAIN).
 */
function mayBeAbsent(result: number, command: BpfCommandName, about: CallArguments): boolean {
  if (result >= 0) return true;
  const errno = lastErrno();
  if (errno === ENOENT || errno === EAGAIN) return false;
  throw new SysError(`bpf ${command}`, errno, about);
}

const NEXT_ID: Readonly<Record<BpfObjectKind, BpfCommandName>> = {
  program: 'PROG_GET_NEXT_ID',
  map: 'MAP_GET_NEXT_ID',
  link: 'LINK_GET_NEXT_ID',
};
const BY_ID: Readonly<Record<BpfObjectKind, BpfCommandName>> = {
  program: 'PROG_GET_FD_BY_ID',
  map: 'MAP_GET_FD_BY_ID',
  link: 'LINK_GET_FD_BY_ID',
};

const BATCH = { lookup: 'MAP_LOOKUP_BATCH', 'lookup-and-delete': 'MAP_LOOKUP_AND_DELETE_BATCH' } as const;

/**
 * bpf(2), one function per command: `int bpf(int cmd, union bpf_attr *attr, unsigned int size)`.
 *
 * Not bound: PROG_TEST_RUN (programs of events run at events), OBJ_PIN and OBJ_GET (nothing here outlives its
 * process), PROG_ATTACH, PROG_DETACH and PROG_QUERY (cgroups and sockets), BTF_* (lines are ours, not the
 * kernel's), LINK_UPDATE and LINK_DETACH (a link ends with its descriptor), ITER_CREATE,
 * MAP_LOOKUP_AND_DELETE_ELEM, MAP_UPDATE_BATCH and MAP_DELETE_BATCH (nothing is written in bulk),
 * PROG_BIND_MAP, TASK_FD_QUERY, TOKEN_CREATE.
 */
export const bpfCalls: BpfCalls = {
  // map_type, key_size, value_size, max_entries, map_flags, inner_map_fd, numa_node, map_name
  bpfMapCreate({ name, type, keySizeBytes, valueSizeBytes, maxEntries, flags }) {
    const attr = new Attr().u32(0, type).u32(4, keySizeBytes).u32(8, valueSizeBytes);
    attr.u32(12, maxEntries).u32(16, flags).name(28, name);
    const about = { name, type, keySizeBytes, valueSizeBytes, maxEntries, flags };
    return adopt(must('MAP_CREATE', about, attr));
  },
  // map_fd, key, value, flags
  bpfMapLookup(map, key, value) {
    const attr = element(map, key).pointer(16, value);
    return mayBeAbsent(ask('MAP_LOOKUP_ELEM', attr, key, value), 'MAP_LOOKUP_ELEM', { map: map.number });
  },
  bpfMapUpdate(map, key, value, flags = 0) {
    const attr = element(map, key).pointer(16, value).u32(24, flags);
    must('MAP_UPDATE_ELEM', { map: map.number, flags }, attr, key, value);
  },
  bpfMapDelete(map, key) {
    const attr = element(map, key);
    return mayBeAbsent(ask('MAP_DELETE_ELEM', attr, key), 'MAP_DELETE_ELEM', { map: map.number });
  },
  // map_fd, key, next_key
  bpfMapNextKey(map, key, next) {
    const attr = element(map, key).pointer(16, next);
    return mayBeAbsent(ask('MAP_GET_NEXT_KEY', attr, key, next), 'MAP_GET_NEXT_KEY', { map: map.number });
  },
  // in_batch, out_batch, keys, values, count, map_fd, elem_flags, flags
  bpfMapBatch(kind, map, position, keys, values, count) {
    const { token, isStarted } = position;
    const attr = new Attr().pointer(0, isStarted ? token : null).pointer(8, token);
    attr.pointer(16, keys).pointer(24, values).u32(32, count).u32(36, map.number);
    const command = BATCH[kind];
    const hasMore = mayBeAbsent(ask(command, attr, keys, values), command, { map: map.number, count });
    position.isStarted = true;
    return { count: attr.view.getUint32(32, true), hasMore };
  },
  // prog_type, insn_cnt, insns, license, log_level, log_size, log_buf, kern_version, prog_flags, prog_name,
  // prog_ifindex, expected_attach_type
  bpfProgramLoad({ name, type, license, instructions, attachType, attachBtfId = 0 }, log) {
    const licenseText = cText(license);
    // Typed arrays of a few bytes can lie in V8's moving heap.
    const fixed = new Uint8Array(new ArrayBuffer(instructions.length));
    fixed.set(instructions);
    const attr = new Attr().u32(0, type).u32(4, instructions.length >>> 3);
    attr.pointer(8, fixed).pointer(16, licenseText).name(48, name).u32(68, attachType);
    // attach_btf_id
    attr.u32(108, attachBtfId);
    if (log !== null) attr.u32(24, log.level).u32(28, log.buffer.length).pointer(32, log.buffer);
    const about = { name, type, instructions: instructions.length >>> 3 };
    // A signal ends the verifier (EAGAIN), and a profiler of this process sends one each millisecond.
    const program = withoutSignals(() => must('PROG_LOAD', about, attr, fixed, licenseText));
    return adopt(program);
  },
  // name, prog_fd
  bpfRawTracepointOpen(name, program) {
    const text = cText(name);
    const attr = new Attr().pointer(0, name === '' ? null : text).u32(8, program.number);
    return adopt(must('RAW_TRACEPOINT_OPEN', { name, program: program.number }, attr, text));
  },
  // prog_fd, target_fd, attach_type, flags, perf_event.bpf_cookie
  bpfLinkCreate(program, target, attachType, cookie = 0n) {
    const attr = new Attr().u32(0, program.number).u32(4, target.number).u32(8, attachType);
    attr.view.setBigUint64(16, cookie, true);
    const about = { program: program.number, target: target.number, attachType };
    return adopt(must('LINK_CREATE', about, attr));
  },
  // start_id, next_id
  bpfNextId(kind, after) {
    const attr = new Attr().u32(0, after);
    const command = NEXT_ID[kind];
    return mayBeAbsent(ask(command, attr), command, { after }) ? attr.view.getUint32(4, true) : null;
  },
  // id, next_id, open_flags
  bpfOpenById(kind, id) {
    const attr = new Attr().u32(0, id);
    const command = BY_ID[kind];
    const number = ask(command, attr);
    return mayBeAbsent(number, command, { id }) ? adopt(number) : null;
  },
  // bpf_fd, info_len, info
  bpfObjectInfo(fd, info) {
    const attr = new Attr().u32(0, fd.number).u32(4, info.length).pointer(8, info);
    must('OBJ_GET_INFO_BY_FD', { fd: fd.number }, attr, info);
    return attr.view.getUint32(4, true);
  },
  // type: BPF_STATS_RUN_TIME
  bpfEnableStats() {
    return adopt(must('ENABLE_STATS', {}, new Attr()));
  },
};

/**
 * Elements are read by the ten thousand: their commands share one structure. A call
 * is over before the next begins.
 */
const scratchElement = new Attr();

function element(map: Fd, key: ArrayBufferView | null): Attr {
  scratchElement.view.setBigUint64(24, 0n, true);
  return scratchElement.u32(0, map.number).pointer(8, key).pointer(16, null);
}
