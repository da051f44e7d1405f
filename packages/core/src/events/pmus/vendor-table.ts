import { type TermValue, termsText } from './term-layout.ts';
import {
  eventName,
  type Fields,
  field,
  isSet,
  numberField,
  readNumber,
  shown,
  textField,
} from './vendor-fields.ts';
import type { ProblemList, VendorEvent } from './vendor-types.ts';

/** Fields that are a term each: [spellings, term]. */
const SIMPLE_TERMS: readonly (readonly [readonly string[], string])[] = [
  [['CounterMask', 'CMask'], 'cmask'],
  [['Invert', 'Inv'], 'inv'],
  [['AnyThread', 'AnyThr'], 'any'],
  [['EdgeDetect', 'Edge'], 'edge'],
  [['Equal'], 'eq'],
  [['PortMask'], 'ch_mask'],
  [['FCMask'], 'fc_mask'],
];

/**
 * The register beside an event (`MSRIndex`) and the term of its value (linux tools/perf, arch/x86 `format/`).
 */
const MSR_TERMS: ReadonlyMap<bigint, string> = new Map([
  [0x3f6n, 'ldlat'],
  [0x1a6n, 'offcore_rsp'],
  [0x1a7n, 'offcore_rsp'],
  [0x3f7n, 'frontend'],
]);

/** Names of units that are not their PMU's. */
const UNIT_PMUS: ReadonlyMap<string, string> = new Map([
  ['CBO', 'uncore_cbox'],
  ['CBOX', 'uncore_cbox'],
  ['QPI LL', 'uncore_qpi'],
  ['SBO', 'uncore_sbox'],
  ['HA', 'uncore_ha'],
  ['IMPH-U', 'uncore_arb'],
  ['NCU', 'uncore_clock'],
  ['UPI LL', 'uncore_upi'],
  ['IMC', 'uncore_imc'],
  ['L3PMC', 'amd_l3'],
  ['DFPMC', 'amd_df'],
  ['UMCPMC', 'amd_umc'],
]);

/** Units that stand for the core itself. */
const CORE_UNITS = new Set(['', 'CORE', 'CPU']);

/**
 * Codes with event byte 0 stand for a fixed counter. For these two the kernel knows the architectural code
 * only, which it puts on the same fixed counter.
 */
const FIXED_CODES: ReadonlyMap<bigint, bigint> = new Map([
  [0x01n, 0xc0n],
  [0x02n, 0x3cn],
]);

/** A row by Intel's field names (perfmon's README; perf's JSON has the same). */
export function readTableEvent(fields: Fields, place: string, problems: ProblemList): VendorEvent | null {
  const name = eventName(field(fields, 'EventName'));
  if (name === null) {
    problems.add(`${place}.EventName`, `${shown(field(fields, 'EventName'))} is not a name of an event`);
    return null;
  }
  const unit = textField(fields, 'Unit');
  const isCore = CORE_UNITS.has(unit.toUpperCase()) || unit.startsWith('cpu_');
  // The precise distribution is a property of the fixed counter: its own code must stay.
  const isExchanged = isCore && !name.endsWith('.PREC_DIST');
  const termValues = readTerms(fields, place, isExchanged, problems);
  if (termValues === null) return null;
  const period = numberField(fields, place, problems, 'SampleAfterValue');
  const counters = readCounters(fields, place, problems);
  const brief = textField(fields, 'BriefDescription');
  return {
    name,
    terms: termsText(termValues),
    termValues,
    pmu: pmuOf(unit),
    brief,
    description: textField(fields, 'PublicDescription') || brief,
    ...counters,
    samplePeriod: period ?? null,
    precise: preciseOf(fields),
    isDeprecated: isSet(fields, 'Deprecated'),
    place,
  };
}

function pmuOf(unit: string): string | null {
  if (CORE_UNITS.has(unit.toUpperCase())) return null;
  const known = UNIT_PMUS.get(unit.toUpperCase());
  if (known !== undefined) return known;
  const plain = unit.toLowerCase().replace(/[^a-z0-9_]+/g, '_');
  return /^(?:cpu_|uncore_|amd_|arm|hisi)/.test(plain) ? plain : `uncore_${plain}`;
}

function preciseOf(fields: Fields): VendorEvent['precise'] {
  const pebs = textField(fields, 'PEBS', 'Precise');
  return pebs === '2' ? 'must' : pebs === '1' || isSet(fields, 'PEBS') ? 'can' : 'no';
}

/** `null`: some number of it cannot be read, so that it would count something else. */
function readTerms(
  fields: Fields,
  place: string,
  isExchanged: boolean,
  problems: ProblemList,
): TermValue[] | null {
  const terms: TermValue[] = [];
  const config = numberField(fields, place, problems, 'ConfigCode');
  if (config === undefined) return null;
  if (config !== null) return [['config', config]];
  const code = readCode(fields, place, problems);
  const mask = readMask(fields, place, problems);
  if (code === null || mask === undefined) return null;
  const architectural = isExchanged && code === 0n && mask !== null ? FIXED_CODES.get(mask) : undefined;
  terms.push(['event', architectural ?? code]);
  if (architectural === undefined && mask !== null) terms.push(['umask', mask]);
  for (const [spellings, term] of SIMPLE_TERMS) {
    const value = numberField(fields, place, problems, ...spellings);
    if (value === undefined) return null;
    if (value !== null && value !== 0n) terms.push([term, value]);
  }
  return readRegister(fields, place, terms, problems) && readFilter(fields, place, terms, problems)
    ? terms
    : null;
}

/** `EventCode` may list two codes (one per off-core register): the kernel exchanges them itself. */
function readCode(fields: Fields, place: string, problems: ProblemList): bigint | null {
  const given = field(fields, 'EventCode');
  const code = typeof given === 'string' ? given.split(',', 1)[0]! : given;
  if (code === undefined || code === null || code === '') return 0n;
  const number = readNumber(code);
  const extension = numberField(fields, place, problems, 'ExtSel');
  if (number === undefined) problems.add(`${place}.EventCode`, `${shown(given)} is not a code`);
  return number === undefined || extension === undefined
    ? null
    : joined(number, extension ?? 0n, 21n, `${place}.ExtSel`, problems);
}

function readMask(fields: Fields, place: string, problems: ProblemList): bigint | null | undefined {
  const mask = numberField(fields, place, problems, 'UMask', 'Umask');
  const extension = numberField(fields, place, problems, 'UMaskExt');
  if (mask === undefined || extension === undefined) return undefined;
  if (extension === null || extension === 0n) return mask;
  return joined(mask ?? 0n, extension, 8n, `${place}.UMaskExt`, problems) ?? undefined;
}

/** An extension above the value that it extends; `null`: more than 64 bits. */
function joined(
  value: bigint,
  extension: bigint,
  shift: bigint,
  place: string,
  problems: ProblemList,
): bigint | null {
  const all = value | (extension << shift);
  if (all >> 64n === 0n) return all;
  problems.add(place, `0x${extension.toString(16)} is more than fits`);
  return null;
}

function readRegister(fields: Fields, place: string, terms: TermValue[], problems: ProblemList): boolean {
  const given = field(fields, 'MSRIndex');
  const index = typeof given === 'string' ? given.split(',', 1)[0]! : given;
  if (index === undefined || index === null || index === '') return true;
  const number = readNumber(index);
  if (number === 0n) return true;
  const term = number === undefined ? undefined : MSR_TERMS.get(number);
  if (term === undefined) {
    problems.add(`${place}.MSRIndex`, `register ${shown(given)} has no term`);
    return false;
  }
  const value = numberField(fields, place, problems, 'MSRValue');
  if (value === undefined) return false;
  terms.push([term, value ?? 0n]);
  return true;
}

/** Uncore tables: `filter_opc=0x182,…`, terms as they stand. */
function readFilter(fields: Fields, place: string, terms: TermValue[], problems: ProblemList): boolean {
  const filter = textField(fields, 'Filter');
  if (filter === '' || /^(?:na|none|0)$/i.test(filter)) return true;
  for (const piece of filter.split(',')) {
    const found = /^([a-z_][a-z0-9_]{0,30})=(0x[\da-f]{1,16}|\d{1,19})$/i.exec(piece.trim());
    if (found === null) {
      problems.add(`${place}.Filter`, `${shown(filter)} is not a list of terms`);
      return false;
    }
    terms.push([found[1]!, BigInt(found[2]!)]);
  }
  return true;
}

/**
 * `0,1,2,3`; `Fixed counter 1`; in perf's tables fixed counters are 32 and up. Uncore tables
 * have a `FIXED` without number.
 */
function readCounters(
  fields: Fields,
  place: string,
  problems: ProblemList,
): Pick<VendorEvent, 'general' | 'fixed'> {
  const text = textField(fields, 'Counter', 'CounterHTOff');
  const fixed: number[] = [];
  const general: number[] = [];
  if (/^fixed$/i.test(text)) return { general: null, fixed: [] };
  for (const piece of text === '' ? [] : text.split(',').slice(0, 64)) {
    const found = /^(fixed(?: counter)?)? ?(\d{1,2})$/i.exec(piece.trim());
    if (found === null) {
      problems.add(
        `${place}.Counter`,
        `${shown(text)} is not a list of counters; any counter is assumed to be possible`,
      );
      return { general: null, fixed: [] };
    }
    const number = Number(found[2]);
    if (found[1] !== undefined) fixed.push(number);
    else if (number >= 32) fixed.push(number - 32);
    else general.push(number);
  }
  return { general: general.length === 0 && fixed.length === 0 ? null : general, fixed };
}
