/** A machine that has Intel PT by its sysfs, for what perf and we ask of the kernel before it says no. */
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { RecordOptions } from '../linux/sample/record/index.ts';

/** Of a machine with all that there is; `event_source/devices` in a mount namespace of its own. */
const SYSFS: Readonly<Record<string, string>> = {
  type: '8',
  max_nonturbo_ratio: '36',
  tsc_art_ratio: '226:2',
  nr_addr_filters: '2',
  'format/pt': 'config:0',
  'format/cyc': 'config:1',
  'format/pwr_evt': 'config:4',
  'format/fup_on_ptw': 'config:5',
  'format/mtc': 'config:9',
  'format/tsc': 'config:10',
  'format/noretcomp': 'config:11',
  'format/ptw': 'config:12',
  'format/branch': 'config:13',
  'format/mtc_period': 'config:14-17',
  'format/cyc_thresh': 'config:19-22',
  'format/psb_period': 'config:24-27',
  'format/event': 'config:31',
  'format/notnt': 'config:55',
  'caps/psb_cyc': '1',
  'caps/mtc': '1',
  'caps/mtc_periods': '249',
  'caps/cycle_thresholds': '3fff',
  'caps/psb_periods': '3f',
  'caps/topa_multiple_entries': '1',
  'caps/ip_filtering': '1',
  'caps/ptwrite': '1',
  'caps/power_event_trace': '1',
  'caps/event_trace': '1',
  'caps/tnt_disable': '1',
};
/** The kernel's own, by which names are resolved. */
const OTHERS = { software: '1', tracepoint: '2', breakpoint: '5' };

/**
 * Takes events that this kernel does not have for ones that count nothing, so that perf goes on to the next.
 */
const SHIM = `
#define _GNU_SOURCE
#include <dlfcn.h>
#include <linux/perf_event.h>
#include <stdarg.h>
#include <string.h>
#include <sys/syscall.h>
long syscall(long n, ...) {
  static long (*next)(long, ...);
  va_list list;
  long a[6];
  va_start(list, n);
  for (int i = 0; i < 6; i++) a[i] = va_arg(list, long);
  va_end(list);
  if (next == 0) next = dlsym(RTLD_NEXT, "syscall");
  struct perf_event_attr *given = (struct perf_event_attr *)a[0], dummy;
  if (n == SYS_perf_event_open && given->type != PERF_TYPE_SOFTWARE) {
    memset(&dummy, 0, sizeof dummy);
    dummy.type = PERF_TYPE_SOFTWARE;
    dummy.config = PERF_COUNT_SW_DUMMY;
    dummy.size = sizeof dummy;
    dummy.sample_period = dummy.sample_id_all = dummy.exclude_kernel = 1;
    dummy.sample_type = given->sample_type & ~PERF_SAMPLE_AUX;
    dummy.read_format = given->read_format;
    dummy.inherit = given->inherit;
    a[0] = (long)&dummy;
  }
  return next(n, a[0], a[1], a[2], a[3], a[4], a[5]);
}
`;

export class PtMachine {
  readonly #folder: string;
  readonly #script: string;
  readonly #perf: string;
  readonly #shim: string;

  /**
   * Files go into `folder`. Needs gcc, perf, and the right to make a mount namespace. `others`: files of
   * other PMUs, by their paths below the folder of all.
   */
  constructor(folder: string, others: Readonly<Record<string, string>> = {}) {
    this.#folder = folder;
    this.#script = join(folder, 'machine.sh');
    this.#perf = join(folder, 'perf-of-intel');
    this.#shim = join(folder, 'shim.so');
    const devices = '/sys/bus/event_source/devices';
    const lines = [
      'set -e',
      `mount -t tmpfs none ${devices}`,
      `mkdir -p ${devices}/intel_pt/format ${devices}/intel_pt/caps`,
      ...Object.entries(SYSFS).map(([name, text]) => `echo '${text}' > ${devices}/intel_pt/${name}`),
      ...Object.entries(OTHERS).map(
        ([name, type]) => `mkdir ${devices}/${name} && echo ${type} > ${devices}/${name}/type`,
      ),
      ...Object.entries(others).map(
        ([path, text]) => `mkdir -p ${devices}/${dirname(path)} && echo '${text}' > ${devices}/${path}`,
      ),
      'exec "$@"',
    ];
    writeFileSync(this.#script, `${lines.join('\n')}\n`);
    writeFileSync(this.#perf, perfOfIntel(), { mode: 0o755 });
    const built = spawnSync('gcc', ['-shared', '-fPIC', '-o', this.#shim, '-x', 'c', '-'], { input: SHIM });
    if (built.status !== 0) throw new Error(String(built.stderr));
  }

  /** Run a command there. Both outputs, as text. */
  run(command: readonly string[], cwd: string, env: Record<string, string> = {}): string {
    const { stdout, stderr, error } = spawnSync('unshare', ['-m', 'sh', this.#script, ...command], {
      encoding: 'utf8',
      cwd,
      env: { ...process.env, ...env },
      maxBuffer: 1 << 26,
    });
    if (error !== undefined) throw error;
    return stdout + stderr;
  }

  /** What recordings would open there: in a process of its own. */
  plans(requests: readonly RecordOptions[]): Planned[] {
    const path = join(this.#folder, 'requests.json');
    writeFileSync(path, JSON.stringify(requests));
    const out = this.run([process.execPath, ...process.execArgv, PLANS, path], process.cwd());
    return JSON.parse(out) as Planned[];
  }

  /** What `perf record` with these words says while it opens its events. */
  perfRecord(words: readonly string[]): string {
    const output = join(this.#folder, 'perf.data');
    return this.run([this.#perf, 'record', '-vvv', '-o', output, ...words, 'true'], this.#folder, {
      LD_PRELOAD: this.#shim,
    });
  }
}

/**
 * perf asks the CPU whether it is Intel's before it knows of Intel PT: with CPUID, which nobody can answer
 * for it. So the answer that it wants is another one: of this CPU's vendor.
 */
function perfOfIntel(): Buffer {
  const wanted = 'GenuineIntel,';
  const vendor = `${/^vendor_id\s*: (.*)$/m.exec(readFileSync('/proc/cpuinfo', 'utf8'))?.[1] ?? ''},`;
  const found = spawnSync('sh', ['-c', 'command -v perf'], { encoding: 'utf8' }).stdout.trim();
  const perf = readFileSync(found);
  if (vendor === wanted || vendor.length !== wanted.length) return perf;
  // Thirteen characters, compared as two words of eight in `movabs` that overlap, or as the text.
  const overlap = wanted.length - 8;
  for (const [from, to] of [
    [0, 8],
    [overlap, wanted.length],
  ] as const)
    replaceAll(perf, `H\xb8${wanted.slice(from, to)}`, `H\xb8${vendor.slice(from, to)}`);
  replaceAll(perf, `${wanted}\0`, `${vendor}\0`);
  return perf;
}

function replaceAll(bytes: Buffer, from: string, to: string): void {
  for (let at = bytes.indexOf(from, 0, 'latin1'); at >= 0; at = bytes.indexOf(from, at + 1, 'latin1'))
    bytes.write(to, at, 'latin1');
}

export interface PlannedAttr {
  name: string;
  attr: Record<string, number | string>;
  filter?: string | null;
  aux?: { sizeBytes: number; overwrites: boolean };
}
export type Planned = PlannedAttr[] | { code: string; message: string };

const PLANS = fileURLToPath(new URL('pt-plans.ts', import.meta.url));
