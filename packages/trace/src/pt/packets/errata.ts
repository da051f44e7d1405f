/**
 * Where certain processors do not follow the manual, and which processors. The names are those of Intel's
 * specification updates. An erratum has a name for each product: the first one is used.
 */
export interface Errata {
  /** After a transactional abort that follows a branch, the branch's own packet may be wrong. */
  readonly bdm64: boolean;
  /** A PSB+ just before TIP.PGE may hold FUP and MODE.Exec although tracing is not enabled yet. */
  readonly bdm70: boolean;
  /** OVF may be written in the middle of a CYC of several bytes, whose rest is then missing. */
  readonly skd007: boolean;
  /** A VM entry that ends tracing may write a FUP before its TIP.PGD. */
  readonly skd022: boolean;
  /** The FUP or TIP.PGE after OVF may be missing. */
  readonly skd010: boolean;
  /** The TIP.PGD of a direct branch out of a filter range may lack its IP. */
  readonly skl014: boolean;
  /** OVF may be followed by a FUP although tracing is disabled. */
  readonly apl12: boolean;
  /** OVF may be followed by the TIP.PGD that it should have swallowed. */
  readonly apl11: boolean;
  /** A CYC, and an MTC with it, just before PSB may be missing. */
  readonly skl168: boolean;
  /** In a guest with TSC scaling, TMA is corrupt and a stray byte follows it. */
  readonly skz84: boolean;
}

/** Intel's name of an erratum, in small letters. */
export type ErratumName = keyof Errata;

/** Family, model and stepping, as CPUID leaf 1 gives them (display family, display model). */
export interface Cpu {
  /** Display family: 6 for most. */
  readonly family: number;
  /** Display model, with the extended model: 0x55 is a Skylake server. */
  readonly model: number;
  /** The stepping. No known erratum depends on it. */
  readonly stepping: number;
}

/** A processor that follows the manual. Use it if the processor is not known. */
export const NO_ERRATA: Errata = {
  bdm64: false,
  bdm70: false,
  skd007: false,
  skd022: false,
  skd010: false,
  skl014: false,
  apl12: false,
  apl11: false,
  skl168: false,
  skz84: false,
};

/**
 * Processors with the same errata: family, models, errata. No erratum known so far depends on the stepping.
 */
const BY_CPU: readonly (readonly [number, readonly number[], readonly ErratumName[]])[] = [
  // Broadwell
  [6, [0x3d, 0x47, 0x4f, 0x56], ['bdm70', 'bdm64']],
  // Skylake, Kaby Lake, Coffee Lake, Comet Lake
  [6, [0x4e, 0x5e, 0x8e, 0x9e, 0xa5, 0xa6], ['bdm70', 'skd007', 'skd022', 'skd010', 'skl014', 'skl168']],
  // Skylake, Ice Lake, Sapphire, Emerald and Granite Rapids servers
  [6, [0x55, 0x6a, 0x6c, 0x8f, 0xad, 0xae, 0xcf], ['bdm70', 'skd022', 'skl014', 'skz84']],
  // Diamond Rapids
  [19, [0x01], ['bdm70', 'skd022', 'skl014', 'skz84']],
  // Cannon Lake, Ice Lake, Tiger Lake, Rocket Lake
  [6, [0x66, 0x7d, 0x7e, 0x8c, 0x8d, 0xa7, 0xa8], ['bdm70', 'skd022', 'skl014']],
  // Alder, Raptor, Meteor, Arrow, Lunar, Panther and Wildcat Lake: small cores beside the large ones
  [
    6,
    [0x97, 0x9a, 0xaa, 0xac, 0xb5, 0xb7, 0xba, 0xbd, 0xbf, 0xc5, 0xc6, 0xcc, 0xd5],
    ['bdm70', 'skd022', 'skl014', 'apl11'],
  ],
  // Nova Lake
  [18, [0x01, 0x03], ['bdm70', 'skd022', 'skl014', 'apl11']],
  // Goldmont
  [6, [0x5c, 0x5f], ['apl12', 'apl11']],
  // Goldmont Plus, Tremont, Crestmont, Darkmont
  [6, [0x7a, 0x86, 0x96, 0x9c, 0xaf, 0xb6, 0xdd], ['apl11']],
];

/** The errata of a processor. Null if it is not in the table: then assume none, and say so. */
export function errataOf(cpu: Cpu): Errata | null {
  for (const [family, models, names] of BY_CPU) {
    if (cpu.family !== family || !models.includes(cpu.model)) continue;
    const errata: { -readonly [name in ErratumName]: boolean } = { ...NO_ERRATA };
    for (const name of names) errata[name] = true;
    return errata;
  }
  return null;
}

/**
 * Parses `family/model[/stepping]`, each number decimal, or hexadecimal with 0x. Null for any other text.
 */
export function parseCpu(text: string): Cpu | null {
  const parts = text.split('/');
  if (parts.length < 2 || parts.length > 3) return null;
  const numbers = parts.map((part) => (/^(0x[0-9a-f]{1,4}|[0-9]{1,5})$/i.test(part) ? Number(part) : -1));
  if (numbers.includes(-1)) return null;
  return { family: numbers[0]!, model: numbers[1]!, stepping: numbers[2] ?? 0 };
}
