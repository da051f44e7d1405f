import {
  type CpuIdentity,
  describePmu,
  formatText,
  type MapRow,
  matchMapFile,
  type VendorEvent,
  type VendorEvents,
} from '@counterpoint/core/pmus';

/** A core PMU that a table's events are for. */
export interface TableCore {
  /** The name of the PMU, such as `cpu` or `cpu_atom`. */
  readonly pmu: string;
  /** Whether the kernel shows it on this machine. */
  readonly isHere: boolean;
  /** Its terms as its family has them; empty where the family is not described. */
  readonly formats: ReadonlyMap<string, string>;
}

/** One table of a vendor, and whose it is. */
export interface EventTable {
  /** Path of the file. */
  readonly path: string;
  /** The events that it describes. */
  readonly events: readonly VendorEvent[];
  /** The core PMUs for which it is. */
  readonly cores: readonly TableCore[];
  /** The CPU that it is for, where that is not this machine's. */
  readonly foreign: string | null;
  /** Nothing says which CPU it is for: who named it is believed. */
  readonly isAssumed: boolean;
}

/** Which CPU a table is for. A row of a map tells it, or else the table itself. */
export function tableCpu(
  table: VendorEvents,
  rows: readonly MapRow[],
  identities: readonly CpuIdentity[],
): Pick<EventTable, 'cores' | 'foreign' | 'isAssumed'> {
  const own = (those: readonly CpuIdentity[], isAssumed: boolean) => ({
    cores: those.map((identity) => coreOf(identity, identity.pmuType !== null)),
    foreign: null,
    isAssumed,
  });
  const other = (name: string, identity: CpuIdentity) => ({
    cores: [coreOf(identity, false)],
    foreign: name,
    isAssumed: false,
  });
  const [row] = rows;
  if (row !== undefined) {
    const map = { rows, problems: [], problemCount: 0 };
    const matching = identities.filter((identity) => matchMapFile(map, identity).length > 0);
    return matching.length > 0 ? own(matching, false) : other(row.pattern, identityOfRow(row));
  }
  const { schema, product } = table;
  if (product !== null) {
    const midr = ((product.implementer << 24) | 0xf_0000 | (product.part << 4)) >>> 0;
    // Variant and revision do not matter.
    const matching = identities.filter((identity) => ((identity.midr ?? 0) & 0xff0f_fff0) >>> 0 === midr);
    return matching.length > 0 ? own(matching, false) : other(product.name, armIdentity(midr));
  }
  const isX86 = identities.some(({ vendor }) => vendor === 'GenuineIntel');
  if (schema === 'intel-perfmon' && !isX86) return other('an Intel CPU', x86Identity('GenuineIntel', 6));
  const isArm = identities.some(({ architecture }) => architecture.startsWith('arm'));
  if (schema?.startsWith('arm-') === true && !isArm) return other('an Arm CPU', armIdentity(null));
  return own(identities, true);
}

function coreOf(identity: CpuIdentity, isHere: boolean): TableCore {
  const terms = describePmu(identity)?.terms ?? [];
  return { pmu: identity.pmu, isHere, formats: new Map(terms.map((term) => [term.name, formatText(term)])) };
}

/** Enough of another CPU for its family to say which terms it has. */
function identityOfRow({ pattern, role }: MapRow): CpuIdentity {
  const x86 = /^(GenuineIntel|AuthenticAMD)-(\d+)/.exec(pattern);
  if (x86 !== null) {
    const pmu = role === null ? 'cpu' : `cpu_${role.toLowerCase()}`;
    return { ...x86Identity(x86[1]!, Number(x86[2])), pmu };
  }
  const midr = /^0x0{8}([\da-f]{8})$/i.exec(pattern);
  return midr === null ? NOBODY : armIdentity(Number.parseInt(midr[1]!, 16));
}

function x86Identity(vendor: string, family: number): CpuIdentity {
  return { ...NOBODY, architecture: 'x86', vendor, family };
}

function armIdentity(midr: number | null): CpuIdentity {
  return { ...NOBODY, architecture: 'arm64', midr, pmu: 'armv8_pmuv3' };
}

const NOBODY: CpuIdentity = {
  architecture: 'other',
  vendor: null,
  family: null,
  model: null,
  stepping: null,
  modelName: null,
  flags: new Set(),
  cpuid: new Map(),
  midr: null,
  pmu: 'cpu',
  pmuType: null,
  pmuEvents: null,
  capabilities: new Map(),
  kernelLog: null,
  nmiWatchdog: null,
};
