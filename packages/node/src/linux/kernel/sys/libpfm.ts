import { addressOf, libc, type NativeFunction, openLibrary, textAt } from './ffi.ts';

/**
 * The system's libpfm4, one function per call of `perfmon/pfmlib.h`; structures are those of 64-bit machines.
 * Not bound: pfm_terminate (the tables stay until the process ends), pfm_find_event and
 * pfm_get_perf_event_encoding (older forms of what is here), pfm_pmu_validate (a test of libpfm itself).
 */
export interface LibPfm {
  /** Major and minor, `4.13`. */
  readonly version: string;
  errorText(code: number): string;
  /** `null` for a number without a table in this build. */
  pmuInfo(pmu: number): PfmPmuInfo | null;
  /** The index behind `index`, or -1. */
  nextEvent(index: number): number;
  eventInfo(index: number): PfmEventInfo | null;
  attributeInfo(event: number, attribute: number): PfmAttributeInfo | null;
  /** What perf_event_open takes. `code` is negative where it cannot be had. */
  perfEncoding(
    event: string,
    privileges: number,
  ): { code: number; attr: Uint8Array; cpu: number; name: string };
  /** What the hardware takes. */
  rawEncoding(event: string, privileges: number): { code: number; codes: bigint[]; name: string };
}

export interface PfmPmuInfo {
  readonly name: string;
  readonly description: string;
  readonly type: number;
  readonly eventCount: number;
  readonly firstEvent: number;
  readonly counters: number;
  readonly fixedCounters: number;
  readonly isPresent: boolean;
}

export interface PfmEventInfo {
  readonly name: string;
  readonly description: string;
  readonly code: bigint;
  readonly attributeCount: number;
}

export interface PfmAttributeInfo {
  readonly name: string;
  readonly description: string;
  /** PFM_ATTR_… */
  readonly type: number;
  readonly isDefault: boolean;
}

const SONAME = 'libpfm.so.4';

export const PFM_SUCCESS = 0;
export const PFM_ERR_NOTSUPP = -1;
export const PFM_ERR_NOTFOUND = -4;
export const PFM_ERR_UMASK = -6;
export const PFM_ERR_ATTR_VAL = -9;
/** Privilege levels that are counted where the event does not say: PFM_PLM0 the kernel, PFM_PLM3 users. */
export const PFM_PLM0 = 1;
export const PFM_PLM3 = 8;
export const PFM_ATTR_UMASK = 1;
/** Numbers of PMUs are tried up to here; 4.13 has 516. */
export const PFM_MOST_PMUS = 1024;

const PFM_OS_PERF_EVENT_EXT = 2;
/** More than every version writes. */
const ATTR_BYTES = 256;
/** The size that libpfm is told to fill: PERF_ATTR_SIZE_VER5, which has every field that it knows. */
const STATED_ATTR_BYTES = 112;
const ATTR_SIZE_OFFSET = 4;
const MOST_CODES = 16;

let library: LibPfm | null | undefined;

/** `null` where it is not installed. */
export function loadLibPfm(): LibPfm | null {
  library ??= bind();
  return library;
}

function bind(): LibPfm | null {
  const functionOf = openLibrary(SONAME);
  if (functionOf === null) return null;
  startLibrary(functionOf);

  const version = functionOf('int pfm_get_version(void)');
  const strerror = functionOf('const char *pfm_strerror(int code)') as (code: number) => unknown;
  const getPmuInfo = functionOf('int pfm_get_pmu_info(int pmu, void *output)');
  const getEventNext = functionOf('int pfm_get_event_next(int index)');
  const getEventInfo = functionOf('int pfm_get_event_info(int index, int os, void *output)');
  const getAttributeInfo = functionOf(
    'int pfm_get_event_attr_info(int event, int attribute, int os, void *output)',
  );
  const getOsEncoding = functionOf(
    'int pfm_get_os_event_encoding(const char *text, int plm, int os, void *args)',
  );
  const getEncoding = functionOf(
    'int pfm_get_event_encoding(const char *text, int plm, void *fstr, void *index, void *codes, void *count)',
  );

  return {
    version: versionText(Number(version())),
    errorText: (code) => String(strerror(code)),
    // name, desc, size | pmu, type, nevents, first_event, max_encoding, num_cntrs,
    // num_fixed_cntrs, is_present : 1
    pmuInfo(pmu) {
      const info = structure(56, 16);
      if (Number(getPmuInfo(pmu, info.bytes)) !== PFM_SUCCESS) return null;
      return {
        name: info.text(0),
        description: info.text(8),
        type: info.int(28),
        eventCount: info.int(32),
        firstEvent: info.int(36),
        counters: info.int(44),
        fixedCounters: info.int(48),
        isPresent: (info.int(52) & 1) !== 0,
      };
    },
    nextEvent: (index) => Number(getEventNext(index)),
    // name, desc, equiv, size | code | pmu, dtype, idx, nattrs, reserved, flags
    eventInfo(index) {
      const info = structure(64, 24);
      if (Number(getEventInfo(index, PFM_OS_PERF_EVENT_EXT, info.bytes)) !== PFM_SUCCESS) return null;
      return {
        name: info.text(0),
        description: info.text(8),
        code: info.view.getBigUint64(32, true),
        attributeCount: info.int(52),
      };
    },
    // name, desc, equiv, size | code | type, idx, ctrl, is_dfl : 1 | default
    attributeInfo(event, attribute) {
      const info = structure(64, 24);
      const code = getAttributeInfo(event, attribute, PFM_OS_PERF_EVENT_EXT, info.bytes);
      if (Number(code) !== PFM_SUCCESS) return null;
      return {
        name: info.text(0),
        description: info.text(8),
        type: info.int(40),
        isDefault: (info.int(52) & 1) !== 0,
      };
    },
    // attr, fstr, size | idx, cpu, flags, pad
    perfEncoding(event, privileges) {
      const attr = structure(ATTR_BYTES, null);
      attr.view.setUint32(ATTR_SIZE_OFFSET, STATED_ATTR_BYTES, true);
      const name = structure(8, null);
      const args = structure(40, 16);
      args.view.setBigUint64(0, addressOf(attr.bytes), true);
      args.view.setBigUint64(8, addressOf(name.bytes), true);
      const code = Number(getOsEncoding(event, privileges, PFM_OS_PERF_EVENT_EXT, args.bytes));
      return { code, attr: attr.bytes, cpu: args.int(28), name: takeText(name) };
    },
    rawEncoding(event, privileges) {
      const codes = structure(MOST_CODES * 8, null);
      const codesPointer = structure(8, null);
      codesPointer.view.setBigUint64(0, addressOf(codes.bytes), true);
      const name = structure(8, null);
      const count = Int32Array.of(MOST_CODES);
      const code = Number(
        getEncoding(event, privileges, name.bytes, new Int32Array(1), codesPointer.bytes, count),
      );
      const used = code === PFM_SUCCESS ? count[0]! : 0;
      const words = Array.from({ length: used }, (_, index) => codes.view.getBigUint64(index * 8, true));
      return { code, codes: words, name: takeText(name) };
    },
  };
}

/**
 * libpfm reads its environment once, when it starts. Then it encodes for PMUs that are not here too, if told
 * so; Node's own copy of the environment does not reach it from worker threads.
 */
function startLibrary(functionOf: (prototype: string) => NativeFunction): void {
  const variable = 'LIBPFM_ENCODE_INACTIVE';
  const wasSet = process.env[variable] !== undefined;
  setenv(variable, '1', 1);
  functionOf('int pfm_initialize(void)')();
  if (!wasSet) unsetenv(variable);
}

const setenv = libc('int setenv(const char *name, const char *value, int overwrite)');
const unsetenv = libc('int unsetenv(const char *name)');
const free = libc('void free(void *memory)');

/** `major << 16 | minor`. */
function versionText(version: number): string {
  return `${version >> 16}.${version & 0xffff}`;
}

interface Structure {
  readonly bytes: Uint8Array;
  readonly view: DataView;
  int(offset: number): number;
  text(offset: number): string;
}

/** Zeroed memory for a C structure; `sizeAt` is its own field for its size. */
function structure(sizeBytes: number, sizeAt: number | null): Structure {
  const view = new DataView(new ArrayBuffer(sizeBytes));
  if (sizeAt !== null) view.setBigUint64(sizeAt, BigInt(sizeBytes), true);
  return {
    bytes: new Uint8Array(view.buffer),
    view,
    int: (offset) => view.getInt32(offset, true),
    text: (offset) => textAt(view.getBigUint64(offset, true)),
  };
}

/** A text that libpfm allocated for us. */
function takeText(pointer: Structure): string {
  const address = pointer.view.getBigUint64(0, true);
  if (address === 0n) return '';
  const text = textAt(address);
  free(address);
  return text;
}
