import { constants } from 'node:os';
import { BPF_MAP_TYPES } from '@counterpoint/core/abi';
import type { Fd } from './handles.ts';
import type { BpfBatchPosition, BpfCalls, BpfMapRequest, BpfObjectKind, BpfProgramRequest } from './sys.ts';
import { SysError } from './sys-error.ts';

export interface FakeMap extends BpfMapRequest {
  fd: number;
  /** Values by the key's bytes in hexadecimal. */
  readonly elements: Map<string, Uint8Array>;
}

export interface FakeProgram extends BpfProgramRequest {
  fd: number;
}

/** What a test answers in the verifier's place: an errno and its log, or null. */
export interface FakeRefusal {
  errno: keyof typeof constants.errno;
  log: string;
}

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');

/** The BPF half of `FakeSys`: maps are plain memory, programs are listed and never run. */
export class FakeBpf implements BpfCalls {
  /** Give a refusal for a program. */
  refuseProgram: (program: BpfProgramRequest) => FakeRefusal | null = () => null;
  /** Give an errno to refuse a map. */
  refuseMap: (map: BpfMapRequest) => keyof typeof constants.errno | null = () => null;
  readonly maps: FakeMap[] = [];
  readonly programs: FakeProgram[] = [];
  /** `raw-tracepoint NAME PROGRAM`, `link PROGRAM TARGET COOKIE`, in order. */
  readonly attachments: string[] = [];
  readonly #open: () => Fd;

  constructor(open: () => Fd) {
    this.#open = open;
  }

  map(fd: Fd): FakeMap {
    const map = this.maps.find((one) => one.fd === fd.number);
    if (map === undefined) throw new SysError('bpf', constants.errno.EBADF, { fd: fd.number });
    return map;
  }

  bpfMapCreate(request: BpfMapRequest): Fd {
    const errno = this.refuseMap(request);
    if (errno !== null) throw new SysError('bpf MAP_CREATE', constants.errno[errno], { name: request.name });
    const fd = this.#open();
    this.maps.push({ ...request, fd: fd.number, elements: new Map() });
    return fd;
  }
  bpfMapLookup(fd: Fd, key: Uint8Array, value: Uint8Array): boolean {
    const map = this.map(fd);
    const found = map.elements.get(hex(key));
    const isArray = map.type === BPF_MAP_TYPES.array || map.type === BPF_MAP_TYPES['per-cpu-array'];
    if (found === undefined && !isArray) return false;
    value.fill(0).set(found ?? []);
    return true;
  }
  bpfMapUpdate(fd: Fd, key: Uint8Array, value: Uint8Array): void {
    this.map(fd).elements.set(hex(key), value.slice());
  }
  bpfMapDelete(fd: Fd, key: Uint8Array): boolean {
    return this.map(fd).elements.delete(hex(key));
  }
  bpfMapNextKey(fd: Fd, key: Uint8Array | null, next: Uint8Array): boolean {
    const keys = [...this.map(fd).elements.keys()];
    const found = keys[key === null ? 0 : keys.indexOf(hex(key)) + 1];
    if (found !== undefined) next.set(Buffer.from(found, 'hex'));
    return found !== undefined;
  }
  /** A kernel before 5.6. */
  bpfMapBatch(
    kind: 'lookup' | 'lookup-and-delete',
    _fd: Fd,
    _position: BpfBatchPosition,
  ): { count: number; hasMore: boolean } {
    throw new SysError(`bpf ${kind}`, constants.errno.EINVAL);
  }
  bpfProgramLoad(request: BpfProgramRequest, log: { level: number; buffer: Uint8Array } | null): Fd {
    const refusal = this.refuseProgram(request);
    if (refusal !== null) {
      const text = new TextEncoder().encode(`${refusal.log}\0`);
      log?.buffer.set(text.subarray(0, log.buffer.length));
      const isCut = log !== null && text.length > log.buffer.length;
      throw new SysError('bpf PROG_LOAD', isCut ? constants.errno.ENOSPC : constants.errno[refusal.errno]);
    }
    const fd = this.#open();
    this.programs.push({ ...request, fd: fd.number });
    return fd;
  }
  bpfRawTracepointOpen(name: string, program: Fd): Fd {
    this.attachments.push(`raw-tracepoint ${name} ${program.number}`);
    return this.#open();
  }
  bpfLinkCreate(program: Fd, target: Fd, _attachType: number, cookie = 0n): Fd {
    this.attachments.push(`link ${program.number} ${target.number} ${cookie}`);
    return this.#open();
  }
  bpfNextId(_kind: BpfObjectKind, _after: number): number | null {
    return null;
  }
  bpfOpenById(): Fd | null {
    return null;
  }
  bpfObjectInfo(): number {
    return 0;
  }
  bpfEnableStats(): Fd {
    return this.#open();
  }
}
