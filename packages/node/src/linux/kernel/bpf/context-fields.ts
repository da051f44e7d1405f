/** What a program finds in its context, by program type and architecture: names, offsets, sizes. */
import {
  BPF_PERF_EVENT_DATA_FIELDS,
  BPF_RAW_TRACEPOINT_ARGUMENTS,
  BPF_REGISTER_FILES,
  BPF_TRACEPOINT_HIDDEN_BYTES,
  type BpfArchitecture,
  type BpfProgramType,
} from '@counterpoint/core/abi';

/**
 * A field as tracefs describes it (`TracepointFormat.fields` of core/file-formats/perfdata fits); offsets
 * from the start of the record.
 */
export interface ContextField {
  /** Its name, such as `regs.ip`. */
  readonly name: string;
  /** Place in the context, in bytes. */
  readonly offset: number;
  /** Size in bytes. */
  readonly size: number;
  /** Whether a load of it extends its sign. */
  readonly isSigned: boolean;
  /** The field says where a text of any length is: from the start of the record, or from its own end. */
  readonly dynamic?: 'data' | 'relative' | null;
}

/**
 * Names that every architecture has, for completion; each architecture adds its
 * registers by the kernel's names.
 */
export type CommonContextField =
  | 'ip'
  | 'sp'
  | 'framePointer'
  | 'returnValue'
  | 'samplePeriod'
  | 'address'
  | `arg${1 | 2 | 3 | 4 | 5 | 6}`;

const WORD = 8;

/** Every field that such a program can read, or null where its context is not known field by field. */
export function contextFields(
  type: BpfProgramType,
  architecture: BpfArchitecture | null,
  tracepoint: readonly ContextField[],
): readonly ContextField[] | null {
  switch (type) {
    case 'perf-event':
      // struct bpf_perf_event_data: the registers, then its own words.
      return architecture === null ? null : registerFields(architecture, BPF_PERF_EVENT_DATA_FIELDS);
    case 'kprobe':
      return architecture === null ? null : registerFields(architecture, []);
    case 'tracepoint':
      return tracepoint.filter((field) => field.offset >= BPF_TRACEPOINT_HIDDEN_BYTES);
    case 'raw-tracepoint':
      return words(Array.from({ length: BPF_RAW_TRACEPOINT_ARGUMENTS }, (_, index) => `arg${index + 1}`));
    default:
      return null;
  }
}

function registerFields(architecture: BpfArchitecture, after: readonly string[]): readonly ContextField[] {
  const { registers, aliases } = BPF_REGISTER_FILES[architecture];
  const fields = words([...registers, ...after]);
  for (const [name, register] of Object.entries(aliases))
    fields.push({ ...fields[registers.indexOf(register)]!, name });
  return fields;
}

function words(names: readonly string[]): ContextField[] {
  return names.map((name, index) => ({ name, offset: index * WORD, size: WORD, isSigned: false }));
}
