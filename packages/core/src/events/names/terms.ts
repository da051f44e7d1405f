import { didYouMean, nearestNames } from '../../base/index.ts';
import { BRANCH_FILTERS } from '../../format/branches/index.ts';
import { EventSyntaxError } from './errors.ts';
import type { Term } from './scan.ts';
import type { ParsedEvent } from './types.ts';

type Apply =
  | { kind: 'number'; most: bigint; apply: (event: ParsedEvent, value: bigint) => void }
  | { kind: 'text'; apply: (event: ParsedEvent, value: string) => void; choices?: readonly string[] }
  | { kind: 'form'; pattern: RegExp; expected: string; apply: (event: ParsedEvent, value: string) => void }
  | { kind: 'switch'; apply: (event: ParsedEvent, on: boolean) => void };

const U64 = 0xffff_ffff_ffff_ffffn;
const U32 = 0xffff_ffffn;
const U16 = 0xffffn;

const number = (most: bigint, apply: (event: ParsedEvent, value: bigint) => void): Apply => ({
  kind: 'number',
  most,
  apply,
});
const text = (apply: (event: ParsedEvent, value: string) => void, choices?: readonly string[]): Apply =>
  choices === undefined ? { kind: 'text', apply } : { kind: 'text', apply, choices };
const form = (
  pattern: RegExp,
  expected: string,
  apply: (event: ParsedEvent, value: string) => void,
): Apply => ({ kind: 'form', pattern, expected, apply });
const toggle = (apply: (event: ParsedEvent, on: boolean) => void): Apply => ({ kind: 'switch', apply });

/** What `branch_type=` may list, separated by |. */
const BRANCH_TYPES = /* @__PURE__ */ Object.keys(BRANCH_FILTERS);

/** The terms that every event knows, whatever its PMU. */
const GENERAL_TERMS: ReadonlyMap<string, Apply> = /* @__PURE__ */ generalTerms();

function generalTerms(): Map<string, Apply> {
  return new Map<string, Apply>([
    ['config', number(U64, (event, value) => (event.attr.config = value))],
    ['config1', number(U64, (event, value) => (event.attr.config1 = value))],
    ['config2', number(U64, (event, value) => (event.attr.config2 = value))],
    ['config3', number(U64, (event, value) => (event.attr.config3 = value))],
    ['config4', number(U64, (event, value) => (event.attr.config4 = value))],
    ['name', text((event, value) => (event.name = value))],
    ['period', number(U64, (event, value) => setPeriod(event, value, 0))],
    ['freq', number(U32, (event, value) => setPeriod(event, value, 1))],
    ['branch_type', text((event, value) => (event.options.branchType = value))],
    ['time', number(1n, (event, value) => (event.options.time = value === 1n))],
    ['call-graph', text((event, value) => (event.options.callGraph = value), ['no', 'fp', 'dwarf', 'lbr'])],
    ['stack-size', number(U16, (event, value) => (event.options.stackSizeBytes = Number(value)))],
    ['max-stack', number(U16, (event, value) => (event.options.maxStack = Number(value)))],
    ['nr', number(U32, (event, value) => (event.options.maxEvents = Number(value)))],
    ['inherit', toggle((event, on) => (event.options.inherit = on))],
    ['no-inherit', toggle((event, on) => (event.options.inherit = !on))],
    ['overwrite', toggle((event, on) => (event.options.overwrite = on))],
    ['no-overwrite', toggle((event, on) => (event.options.overwrite = !on))],
    ['percore', toggle((event, on) => (event.options.perCore = on))],
    ['aux-output', toggle((event, on) => (event.options.auxOutput = on))],
    ['aux-sample-size', number(U32, (event, value) => (event.options.auxSampleSizeBytes = Number(value)))],
    [
      'aux-action',
      text((event, value) => (event.options.auxAction = value), ['pause', 'resume', 'start-paused']),
    ],
    [
      'cpu',
      form(/^\d{1,5}(?:-\d{1,5})?(?:,\d{1,5}(?:-\d{1,5})?)*$/, "CPUs such as 3, 0-3 or '0-3,8'", onlyOnCpus),
    ],
    [
      'ratio-to-prev',
      form(/^(?:0?\.\d{1,9}|1(?:\.0+)?)$/, 'a share such as 0.5', (event, value) => {
        event.options.ratioToPrevious = Number(value);
      }),
    ],
    ['metric-id', text((event, value) => (event.options.metricId = value))],
  ]);
}

/** Terms that say which event it is: a tracepoint is known by its id alone. */
export const CONFIG_TERMS = ['config', 'config1', 'config2', 'config3', 'config4'] as const;

export function generalTermNames(withConfig: boolean): string[] {
  return [...GENERAL_TERMS.keys()].filter(
    (name) => withConfig || CONFIG_TERMS.every((term) => term !== name),
  );
}

/** Several such terms add up. */
function onlyOnCpus(event: ParsedEvent, value: string): void {
  event.options.cpus = event.options.cpus === undefined ? value : `${event.options.cpus},${value}`;
}

function setPeriod(event: ParsedEvent, value: bigint, freq: number): void {
  event.attr.samplePeriodOrFreq = value;
  event.attr.flags.freq = freq;
  event.periodGiven = true;
}

/** A decimal or `0x` number of at most 64 bits, else `null`. */
export function parseTermNumber(value: string): bigint | null {
  if (!/^(?:\d{1,20}|0x[0-9a-fA-F]{1,16})$/.test(value)) return null;
  const number = BigInt(value);
  return number > U64 ? null : number;
}

/**
 * Applies a term that every event knows; `false` when it is not one. `source` is the text that it stands in.
 */
export function applyGeneralTerm(event: ParsedEvent, term: Term, source: string): boolean {
  if (term.name.startsWith('@')) {
    const driverTerm = term.name.slice(1) + (term.value === null ? '' : `=${term.value}`);
    (event.options.driverConfig ??= []).push(driverTerm);
    return true;
  }
  const known = GENERAL_TERMS.get(term.name);
  if (known === undefined) return false;
  if (known.kind === 'text') {
    if (term.value === null || term.value === '') {
      throw new EventSyntaxError(source, term.at, `${term.name}= needs a value`);
    }
    checkChoice(term, term.value, known.choices, source);
    known.apply(event, term.value);
    return true;
  }
  if (known.kind === 'form') {
    if (term.value === null || !known.pattern.test(term.value)) {
      throw new EventSyntaxError(source, term.valueAt, `${term.name}= expects ${known.expected}`);
    }
    known.apply(event, term.value);
    return true;
  }
  const value = term.value === null ? 1n : term.quoted ? null : parseTermNumber(term.value);
  if (value === null) throw new EventSyntaxError(source, term.valueAt, `${term.name}= expects a number`);
  if (known.kind === 'switch') {
    if (value > 1n) throw new EventSyntaxError(source, term.valueAt, `${term.name}= expects 0 or 1`);
    known.apply(event, value === 1n);
    return true;
  }
  if (value > known.most) {
    throw new EventSyntaxError(source, term.valueAt, `${term.name} is at most ${known.most}`);
  }
  known.apply(event, value);
  return true;
}

function checkChoice(
  term: Term,
  value: string,
  choices: readonly string[] | undefined,
  source: string,
): void {
  const words = term.name === 'branch_type' ? value.split('|') : choices === undefined ? [] : [value];
  const allowed: readonly string[] = term.name === 'branch_type' ? BRANCH_TYPES : (choices ?? []);
  for (const word of words) {
    if (allowed.includes(word)) continue;
    throw new EventSyntaxError(
      source,
      term.valueAt,
      `${term.name}= expects ${allowed.join(', ')}${didYouMean(nearestNames(word, allowed, 1))}`,
    );
  }
}

/** The error for a term that nobody knows. */
export function unknownTerm(
  term: Term,
  source: string,
  of: string,
  known: readonly string[],
): EventSyntaxError {
  return new EventSyntaxError(
    source,
    term.at,
    `unknown term '${term.name}' for ${of}${didYouMean(nearestNames(term.name, known))}`,
    `Known terms: ${known.join(', ')}`,
  );
}
