import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import koffi from 'koffi';
import {
  a57Identity,
  identity,
  intelIdentity,
  riscvIdentity,
  zen1Identity,
  zen4Identity,
} from '../../test/cpu-identities.ts';
import { ARMV8_RECOMMENDED } from './armv8-standard.ts';
import { describePmu } from './families.ts';
import { SBI_FIRMWARE_EVENTS, sbiCacheEvent, sbiGeneralEvent } from './riscv-sbi.ts';

// Our tables against others' own: libpfm4 (Debian: libpfm4) and the headers of the
// kernel (linux-headers-*-common).

/** The code that libpfm4 gives an event of a PMU that need not be here; `null`: it does not know it. */
function openPfm(): ((event: string) => bigint | null) | string {
  let library: ReturnType<typeof koffi.load>;
  try {
    library = koffi.load('libpfm.so.4');
  } catch {
    return 'libpfm4 is not installed';
  }
  // Read by the library itself when it starts.
  process.env['LIBPFM_ENCODE_INACTIVE'] = '1';
  koffi.struct('pfm_pmu_encode_arg_t', {
    codes: 'uint64_t *',
    fstr: 'void *',
    size: 'size_t',
    count: 'int',
    idx: 'int',
  });
  const initialize = library.func('int pfm_initialize(void)');
  const encode = library.func(
    'int pfm_get_os_event_encoding(const char *text, int levels, int os, _Inout_ pfm_pmu_encode_arg_t *arg)',
  );
  if (initialize() !== 0) return 'libpfm4 does not start here';
  const size = koffi.sizeof('pfm_pmu_encode_arg_t');
  return (event) => {
    const arg = { codes: null, fstr: null, size, count: 0, idx: 0 };
    const status: number = encode(event, 0, 0, arg);
    if (status !== 0) return null;
    return BigInt(koffi.decode(arg.codes, 'uint64_t') as number | bigint);
  };
}

const pfm = openPfm();
const skip = typeof pfm === 'string' && pfm;

/** Event and umask; the bits of x86 control registers that say when to count are left out. */
const SELECT = 0xf_0000_ffffn;

function pfmSelect(event: string): bigint | null {
  const code = (pfm as (event: string) => bigint | null)(event);
  return code === null ? null : code & SELECT;
}

test('Intel’s architectural events have libpfm4’s codes', { skip }, () => {
  const model = describePmu(intelIdentity({ version: 5, general: 8, fixed: 4, events: ['slots'] }))!;
  const pairs = [
    ['core-cycles', 'icl::UNHALTED_CORE_CYCLES'],
    ['instructions-retired', 'icl::INSTRUCTION_RETIRED'],
    ['reference-cycles-tsc', 'icl::UNHALTED_REFERENCE_CYCLES'],
    ['llc-references', 'skl::LONGEST_LAT_CACHE:REFERENCE'],
    ['llc-misses', 'skl::LONGEST_LAT_CACHE:MISS'],
    ['branches-retired', 'skl::BR_INST_RETIRED:ALL_BRANCHES'],
    ['branch-misses-retired', 'skl::BR_MISP_RETIRED:ALL_BRANCHES'],
    ['slots', 'icl::TOPDOWN:SLOTS'],
  ] as const;
  for (const [name, theirs] of pairs) {
    assert.equal(model.events.find((event) => event.name === name)?.config, pfmSelect(theirs), theirs);
  }
});

test('events of all Zen cores have libpfm4’s codes on each of them', { skip }, () => {
  for (const [identity, pmus] of [
    [zen1Identity, ['amd64_fam17h_zen1']],
    [zen4Identity, ['amd64_fam17h_zen2', 'amd64_fam19h_zen3', 'amd64_fam19h_zen4']],
  ] as const) {
    for (const { vendorName, config } of describePmu(identity)!.events) {
      for (const pmu of pmus) {
        // What was called a micro-operation until Zen 2 is an operation since, and only the
        // names of masks changed.
        const renamed = vendorName!.replace('RETIRED_UOPS', 'RETIRED_OPS');
        const theirs = pfmSelect(`${pmu}::${vendorName}`) ?? pfmSelect(`${pmu}::${renamed}`);
        assert.notEqual(theirs, null, `${pmu} has ${vendorName}`);
        assert.equal(config, theirs, `${pmu} ${vendorName}`);
      }
    }
  }
});

test('events of the older AMD families have libpfm4’s codes', { skip }, () => {
  const model = describePmu(identity({ architecture: 'x86', vendor: 'AuthenticAMD', family: 0x10 }))!;
  const theirs = new Map([
    ['core-cycles', 'CPU_CLK_UNHALTED'],
    ['instructions-retired', 'RETIRED_INSTRUCTIONS'],
    ['l2-requests', 'REQUESTS_TO_L2:INSTRUCTIONS:DATA:TLB_WALK'],
    ['l2-misses', 'L2_CACHE_MISS:INSTRUCTIONS:DATA:TLB_WALK'],
    ['branches-retired', 'RETIRED_BRANCH_INSTRUCTIONS'],
    ['branch-misses-retired', 'RETIRED_MISPREDICTED_BRANCH_INSTRUCTIONS'],
    ['decoder-empty-cycles', 'DECODER_EMPTY'],
    ['dispatch-stall-cycles', 'DISPATCH_STALLS'],
  ]);
  assert.equal(model.events.length, theirs.size);
  for (const { name, config } of model.events) {
    assert.equal(config, pfmSelect(`amd64_fam10h_barcelona::${theirs.get(name)}`), name);
  }
});

/** `NAME -> number` of a kernel header's `#define`s and enum entries. */
function headerNumbers(path: string): Map<string, number> {
  const pattern = /(?:#define\s+)?\b([A-Z][A-Z0-9_]+)\s*=?\s+(0x[\da-f]+|\d+)\b/gi;
  return new Map(
    [...readFileSync(path, 'utf8').matchAll(pattern)].map(([, name, number]) => [name!, Number(number)]),
  );
}

/** The newest installed kernel header of these paths. */
function findHeader(...paths: readonly string[]): string | null {
  const root = '/usr/src';
  const kernels = existsSync(root)
    ? readdirSync(root).filter((name) => name.startsWith('linux-headers-'))
    : [];
  const found = kernels
    .sort()
    .flatMap((kernel) => paths.map((path) => join(root, kernel, path)).filter(existsSync));
  return found.at(-1) ?? null;
}

const armHeader = findHeader('arch/arm64/include/asm/perf_event.h', 'include/linux/perf/arm_pmuv3.h');
const NO_HEADERS = 'no kernel headers of all architectures (linux-headers-*-common)';

test('Armv8 events have the kernel’s numbers', { skip: armHeader === null && NO_HEADERS }, () => {
  const theirs = headerNumbers(armHeader!);
  const model = describePmu(a57Identity)!;
  const ours = new Map(model.events.map(({ vendorName, config }) => [vendorName!, Number(config)]));
  let compared = 0;
  for (const [name, number] of theirs) {
    const common = /^ARMV8_PMUV3_PERFCTR_(.+)$/.exec(name)?.[1];
    if (common === undefined) continue;
    assert.equal(ours.get(common), number, name);
    compared++;
  }
  assert.ok(compared >= 80, `${compared} compared`);
  for (const [code, name] of ARMV8_RECOMMENDED) {
    const number = theirs.get(`ARMV8_IMPDEF_PERFCTR_${name}`);
    if (number !== undefined) assert.equal(code, number, name);
  }
});

const sbiHeader = findHeader('arch/riscv/include/asm/sbi.h');

test('RISC-V events have the kernel’s numbers', { skip: sbiHeader === null && NO_HEADERS }, () => {
  const theirs = headerNumbers(sbiHeader!);
  const general = [
    'CPU_CYCLES',
    'INSTRUCTIONS',
    'CACHE_REFERENCES',
    'CACHE_MISSES',
    'BRANCH_INSTRUCTIONS',
    'BRANCH_MISSES',
    'BUS_CYCLES',
    'STALLED_CYCLES_FRONTEND',
    'STALLED_CYCLES_BACKEND',
    'REF_CPU_CYCLES',
  ];
  for (const [number, name] of general.entries()) {
    assert.equal(sbiGeneralEvent(number), theirs.get(`SBI_PMU_HW_${name}`), name);
  }
  for (const [code, [name]] of SBI_FIRMWARE_EVENTS.entries()) {
    const header = `SBI_PMU_FW_${name.toUpperCase().replaceAll('-', '_')}`;
    const number =
      theirs.get(header.replace('RECEIVED', 'RCVD')) ?? theirs.get(header.replace('RECEIVED', 'RECVD'));
    assert.equal(code, number, name);
  }
  const cache = sbiCacheEvent(3, 2, 1);
  assert.equal(cache >>> 16, theirs.get('SBI_PMU_EVENT_TYPE_CACHE'));
  assert.equal((cache & theirs.get('SBI_PMU_EVENT_CACHE_ID_CODE_MASK')!) >>> 3, 3);
  assert.equal((cache & theirs.get('SBI_PMU_EVENT_CACHE_OP_ID_CODE_MASK')!) >>> 1, 2);
  assert.equal(cache & theirs.get('SBI_PMU_EVENT_CACHE_RESULT_ID_CODE_MASK')!, 1);
  assert.equal(describePmu(riscvIdentity)!.generic.get(0)! & 0xf_ffffn, 1n);
});
