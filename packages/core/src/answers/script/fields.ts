import { CounterpointError, checkText, didYouMean, nearestNames } from '../../base/index.ts';
import type { RecordedEvent } from '../../file-formats/perfdata/index.ts';
import {
  PERF_SAMPLE_ADDR,
  PERF_SAMPLE_BRANCH_STACK,
  PERF_SAMPLE_CALLCHAIN,
  PERF_SAMPLE_CODE_PAGE_SIZE,
  PERF_SAMPLE_CPU,
  PERF_SAMPLE_DATA_PAGE_SIZE,
  PERF_SAMPLE_IP,
  PERF_SAMPLE_PHYS_ADDR,
  PERF_SAMPLE_RAW,
  PERF_SAMPLE_REGS_INTR,
  PERF_SAMPLE_REGS_USER,
  PERF_SAMPLE_TID,
  PERF_SAMPLE_TIME,
  PERF_SAMPLE_WEIGHT,
  PERF_SAMPLE_WEIGHT_STRUCT,
  PERF_TYPE_SYNTH,
  PERF_TYPE_TRACEPOINT,
} from '../../format/abi/index.ts';
import { isBranchEvent } from '../../profile/ingest/index.ts';

/**
 * What a line of `script` can hold; names as perf's `-F`. They are printed in perf's
 * order, not in that of the option.
 */
export const SCRIPT_FIELDS = [
  'comm',
  'pid',
  'tid',
  'cpu',
  'time',
  'period',
  'event',
  'flags',
  'callindent',
  'trace',
  'synth',
  'addr',
  'weight',
  'ip',
  'sym',
  'symoff',
  'dso',
  'srcline',
  'iregs',
  'uregs',
  'brstack',
  'brstacksym',
  'brstackoff',
  'brstackinsn',
  'brstackinsnlen',
  'phys_addr',
  'data_page_size',
  'code_page_size',
  'ipc',
  'insn',
  'insnlen',
] as const;
/** A field that `script` prints. */
export type ScriptField = (typeof SCRIPT_FIELDS)[number];

/** perf's choice: what a tracepoint's line shows, and what that of any other event shows. */
const TRACEPOINT_FIELDS: readonly ScriptField[] = ['comm', 'tid', 'cpu', 'time', 'event', 'trace'];
const PLACE_FIELDS: readonly ScriptField[] = ['ip', 'sym', 'symoff', 'dso'];
/** Of what was made out of a hardware trace and is no count of anything. */
const SYNTHETIC_FIELDS: readonly ScriptField[] = [
  'comm',
  'tid',
  'cpu',
  'time',
  'event',
  'synth',
  'ip',
  'sym',
  'symoff',
  'dso',
];
const SAMPLE_FIELDS: readonly ScriptField[] = [
  'comm',
  'tid',
  'cpu',
  'time',
  'period',
  'event',
  'ip',
  'sym',
  'symoff',
  'dso',
];

/** Which bit of sample_type a field needs; fields that are not here are always there. */
const NEEDED_BITS: Partial<Record<ScriptField, number>> = {
  pid: PERF_SAMPLE_TID,
  tid: PERF_SAMPLE_TID,
  comm: PERF_SAMPLE_TID,
  cpu: PERF_SAMPLE_CPU,
  time: PERF_SAMPLE_TIME,
  addr: PERF_SAMPLE_ADDR,
  ip: PERF_SAMPLE_IP,
  trace: PERF_SAMPLE_RAW,
  weight: PERF_SAMPLE_WEIGHT | PERF_SAMPLE_WEIGHT_STRUCT,
  brstack: PERF_SAMPLE_BRANCH_STACK,
  brstacksym: PERF_SAMPLE_BRANCH_STACK,
  brstackoff: PERF_SAMPLE_BRANCH_STACK,
  brstackinsn: PERF_SAMPLE_BRANCH_STACK,
  brstackinsnlen: PERF_SAMPLE_BRANCH_STACK,
  phys_addr: PERF_SAMPLE_PHYS_ADDR,
  iregs: PERF_SAMPLE_REGS_INTR,
  uregs: PERF_SAMPLE_REGS_USER,
  data_page_size: PERF_SAMPLE_DATA_PAGE_SIZE,
  code_page_size: PERF_SAMPLE_CODE_PAGE_SIZE,
};

/** Forms of branch stacks that `dso` adds binaries to. */
export const PLACED = ['brstack', 'brstacksym', 'brstackoff'] as const;
/** The code between branches. */
export const BLOCKS = ['brstackinsn', 'brstackinsnlen'] as const;

/** The choice of fields as the user gave it. */
export interface FieldChoice {
  /** Replace the default, or add to it and take from it. */
  mode: 'set' | 'change';
  /** The fields to print in place of the default ones. */
  set: ReadonlySet<ScriptField>;
  /** Fields to print beside the default ones. */
  added: ReadonlySet<ScriptField>;
  /** Fields to leave out of the default ones. */
  removed: ReadonlySet<ScriptField>;
}

/**
 * Parse `comm,tid,time` or `+addr,-dso`. Throws with the known names where one
 * is not known, or none is named.
 */
export function parseFields(text: string): FieldChoice {
  checkText('parseFields()', 'the list of fields', text);
  const set = new Set<ScriptField>();
  const added = new Set<ScriptField>();
  const removed = new Set<ScriptField>();
  for (const word of text.split(',').map((part) => part.trim())) {
    if (word === '') continue;
    const sign = word[0] === '+' || word[0] === '-' ? word[0] : '';
    const name = word.slice(sign.length);
    const field = SCRIPT_FIELDS.find((known) => known === name);
    if (field === undefined)
      throw fieldError(`unknown field "${name}"${didYouMean(nearestNames(name, SCRIPT_FIELDS))}`);
    (sign === '+' ? added : sign === '-' ? removed : set).add(field);
  }
  if (set.size + added.size + removed.size === 0) throw fieldError('no field is named');
  const mode = set.size > 0 ? 'set' : 'change';
  if (mode === 'set') for (const field of added) set.add(field);
  return { mode, set, added, removed };
}

function fieldError(message: string): CounterpointError {
  return new CounterpointError('ERR_SCRIPT_FIELD', message, `Fields: ${SCRIPT_FIELDS.join(', ')}`);
}

/** What the lines of an event show where nothing is chosen; of tracepoints, places only with call chains. */
export function defaultFields(event: RecordedEvent, callChains = true): readonly ScriptField[] {
  if (event.attr.type === PERF_TYPE_SYNTH) return SYNTHETIC_FIELDS;
  // Where a branch went belongs to it.
  if (isBranchEvent(event)) return [...SAMPLE_FIELDS, 'addr'];
  if (event.attr.type !== PERF_TYPE_TRACEPOINT) return SAMPLE_FIELDS;
  const hasChains = callChains && (event.layout.sampleType & PERF_SAMPLE_CALLCHAIN) !== 0;
  return hasChains ? [...TRACEPOINT_FIELDS, ...PLACE_FIELDS] : TRACEPOINT_FIELDS;
}

/**
 * The fields of an event's samples. What the event did not record is left out, as perf does for its defaults.
 */
export function fieldsOf(
  event: RecordedEvent,
  choice: FieldChoice | null,
  defaults = defaultFields(event),
): ReadonlySet<ScriptField> {
  const fields = new Set<ScriptField>(choice?.mode === 'set' ? choice.set : defaults);
  for (const field of choice?.added ?? []) fields.add(field);
  for (const field of choice?.removed ?? []) fields.delete(field);
  for (const [field, bits] of Object.entries(NEEDED_BITS)) {
    if ((event.layout.sampleType & bits) === 0) fields.delete(field as ScriptField);
  }
  if (event.attr.type !== PERF_TYPE_SYNTH) fields.delete('synth');
  if (!fields.has('ip') && !fields.has('callindent')) {
    // Places of branches have binaries, and their code lines.
    const isKept = (field: ScriptField) =>
      (field === 'dso' && PLACED.some((one) => fields.has(one))) ||
      (field === 'srcline' && BLOCKS.some((one) => fields.has(one)));
    for (const field of ['sym', 'symoff', 'dso', 'srcline'] as const)
      if (!isKept(field)) fields.delete(field);
  }
  return fields;
}
