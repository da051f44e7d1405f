/**
 * The fields of every record, in file order, after the 8-byte header. `scripts/gen-records.ts` turns this
 * into readers and writers; nothing interprets it per record. `record-words.tsv` says what each field means.
 *
 * Kinds: u8 u16 u32 i32 u64 f64 - numbers (u64 becomes bigint); chars:N - text in N bytes; bytes:N; text -
 * text to the end, ended by NUL, padded to 8; bytes - all that is left; list:NAME - u64 count, then that many
 * of STRUCTS[NAME]; u64list - u64 count, then that many u64. `when` is a condition on `misc`.
 *
 * A record that is shorter than its fields reads with zeros (older writer); what is
 * left over is kept (newer writer).
 */

/** A record and its fields. */
export interface RecordRow {
  /** Name of the type constant, without `PERF_RECORD_`. */
  type: string;
  /** Name of the interface, without `Record`. */
  name: string;
  /** Name, kind and condition of each field, in file order. */
  fields: readonly (
    | readonly [string, string]
    | readonly [string, string, 'if-build-id' | 'unless-build-id']
  )[];
}

/** Elements of `list:` fields. */
export const STRUCTS: Readonly<Record<string, readonly (readonly [string, string])[]>> = {
  NamespaceLink: [
    ['device', 'u64'],
    ['inode', 'u64'],
  ],
  IdIndexEntry: [
    ['id', 'u64'],
    ['index', 'u64'],
    ['cpu', 'u64'],
    ['tid', 'u64'],
  ],
  ThreadMapEntry: [
    ['pid', 'u64'],
    ['comm', 'chars:16'],
  ],
  StatConfigEntry: [
    ['tag', 'u64'],
    ['value', 'u64'],
  ],
};

/** Every record of the book but samples: type, name, and fields in file order. */
export const RECORD_TABLE: readonly RecordRow[] = [
  {
    type: 'MMAP',
    name: 'Mmap',
    fields: [
      ['pid', 'i32'],
      ['tid', 'i32'],
      ['start', 'u64'],
      ['length', 'u64'],
      ['pageOffset', 'u64'],
      ['path', 'text'],
    ],
  },
  {
    type: 'LOST',
    name: 'Lost',
    fields: [
      ['id', 'u64'],
      ['lost', 'u64'],
    ],
  },
  {
    type: 'COMM',
    name: 'Comm',
    fields: [
      ['pid', 'i32'],
      ['tid', 'i32'],
      ['comm', 'text'],
    ],
  },
  {
    type: 'EXIT',
    name: 'Exit',
    fields: [
      ['pid', 'i32'],
      ['ppid', 'i32'],
      ['tid', 'i32'],
      ['ptid', 'i32'],
      ['time', 'u64'],
    ],
  },
  {
    type: 'THROTTLE',
    name: 'Throttle',
    fields: [
      ['time', 'u64'],
      ['id', 'u64'],
      ['streamId', 'u64'],
    ],
  },
  {
    type: 'UNTHROTTLE',
    name: 'Unthrottle',
    fields: [
      ['time', 'u64'],
      ['id', 'u64'],
      ['streamId', 'u64'],
    ],
  },
  {
    type: 'FORK',
    name: 'Fork',
    fields: [
      ['pid', 'i32'],
      ['ppid', 'i32'],
      ['tid', 'i32'],
      ['ptid', 'i32'],
      ['time', 'u64'],
    ],
  },
  // The counter values follow in the event's read format; see `readReadValues`.
  {
    type: 'READ',
    name: 'Read',
    fields: [
      ['pid', 'i32'],
      ['tid', 'i32'],
      ['values', 'bytes'],
    ],
  },
  {
    type: 'MMAP2',
    name: 'Mmap2',
    fields: [
      ['pid', 'i32'],
      ['tid', 'i32'],
      ['start', 'u64'],
      ['length', 'u64'],
      ['pageOffset', 'u64'],
      ['major', 'u32', 'unless-build-id'],
      ['minor', 'u32', 'unless-build-id'],
      ['inode', 'u64', 'unless-build-id'],
      ['inodeGeneration', 'u64', 'unless-build-id'],
      ['buildIdSize', 'u8', 'if-build-id'],
      ['reserved1', 'u8', 'if-build-id'],
      ['reserved2', 'u16', 'if-build-id'],
      ['buildId', 'bytes:20', 'if-build-id'],
      ['protection', 'u32'],
      ['flags', 'u32'],
      ['path', 'text'],
    ],
  },
  {
    type: 'AUX',
    name: 'Aux',
    fields: [
      ['auxOffset', 'u64'],
      ['auxSize', 'u64'],
      ['flags', 'u64'],
    ],
  },
  {
    type: 'ITRACE_START',
    name: 'ItraceStart',
    fields: [
      ['pid', 'i32'],
      ['tid', 'i32'],
    ],
  },
  { type: 'LOST_SAMPLES', name: 'LostSamples', fields: [['lost', 'u64']] },
  { type: 'SWITCH', name: 'Switch', fields: [] },
  {
    type: 'SWITCH_CPU_WIDE',
    name: 'SwitchCpuWide',
    fields: [
      ['nextOrPreviousPid', 'i32'],
      ['nextOrPreviousTid', 'i32'],
    ],
  },
  {
    type: 'NAMESPACES',
    name: 'Namespaces',
    fields: [
      ['pid', 'i32'],
      ['tid', 'i32'],
      ['links', 'list:NamespaceLink'],
    ],
  },
  {
    type: 'KSYMBOL',
    name: 'Ksymbol',
    fields: [
      ['address', 'u64'],
      ['length', 'u32'],
      ['symbolType', 'u16'],
      ['flags', 'u16'],
      ['symbol', 'text'],
    ],
  },
  {
    type: 'BPF_EVENT',
    name: 'BpfEvent',
    fields: [
      ['eventType', 'u16'],
      ['flags', 'u16'],
      ['id', 'u32'],
      ['tag', 'bytes:8'],
    ],
  },
  {
    type: 'CGROUP',
    name: 'Cgroup',
    fields: [
      ['id', 'u64'],
      ['path', 'text'],
    ],
  },
  {
    type: 'TEXT_POKE',
    name: 'TextPoke',
    fields: [
      ['address', 'u64'],
      ['oldLength', 'u16'],
      ['newLength', 'u16'],
      ['code', 'bytes'],
    ],
  },
  { type: 'AUX_OUTPUT_HW_ID', name: 'AuxOutputHwId', fields: [['hardwareId', 'u64']] },
  {
    type: 'CALLCHAIN_DEFERRED',
    name: 'CallchainDeferred',
    fields: [
      ['cookie', 'u64'],
      ['addresses', 'u64list'],
    ],
  },
  // The attr states its own size; ids follow it. See `readAttr`.
  { type: 'HEADER_ATTR', name: 'HeaderAttr', fields: [['attrAndIds', 'bytes']] },
  {
    type: 'HEADER_EVENT_TYPE',
    name: 'HeaderEventType',
    fields: [
      ['eventId', 'u64'],
      ['eventName', 'chars:64'],
    ],
  },
  // That many bytes follow the record, padding up to a multiple of 8 among them.
  { type: 'HEADER_TRACING_DATA', name: 'HeaderTracingData', fields: [['dataSize', 'u32']] },
  {
    type: 'HEADER_BUILD_ID',
    name: 'HeaderBuildId',
    fields: [
      ['pid', 'i32'],
      ['buildId', 'bytes:20'],
      ['buildIdSize', 'u8'],
      ['reserved1', 'u8'],
      ['reserved2', 'u16'],
      ['path', 'text'],
    ],
  },
  { type: 'FINISHED_ROUND', name: 'FinishedRound', fields: [] },
  { type: 'ID_INDEX', name: 'IdIndex', fields: [['entries', 'list:IdIndexEntry']] },
  {
    type: 'AUXTRACE_INFO',
    name: 'AuxtraceInfo',
    fields: [
      ['auxtraceType', 'u32'],
      ['reserved', 'u32'],
      ['data', 'bytes'],
    ],
  },
  // That many bytes of trace follow the record.
  {
    type: 'AUXTRACE',
    name: 'Auxtrace',
    fields: [
      ['dataSize', 'u64'],
      ['auxOffset', 'u64'],
      ['reference', 'u64'],
      ['index', 'u32'],
      ['tid', 'i32'],
      ['cpu', 'i32'],
      ['reserved', 'u32'],
    ],
  },
  {
    type: 'AUXTRACE_ERROR',
    name: 'AuxtraceError',
    fields: [
      ['errorType', 'u32'],
      ['code', 'u32'],
      ['cpu', 'i32'],
      ['pid', 'i32'],
      ['tid', 'i32'],
      ['format', 'u32'],
      ['ip', 'u64'],
      ['time', 'u64'],
      ['message', 'chars:64'],
      ['machinePid', 'i32'],
      ['vcpu', 'i32'],
    ],
  },
  { type: 'THREAD_MAP', name: 'ThreadMap', fields: [['entries', 'list:ThreadMapEntry']] },
  {
    type: 'CPU_MAP',
    name: 'CpuMap',
    fields: [
      ['mapType', 'u16'],
      ['data', 'bytes'],
    ],
  },
  { type: 'STAT_CONFIG', name: 'StatConfig', fields: [['entries', 'list:StatConfigEntry']] },
  {
    type: 'STAT',
    name: 'Stat',
    fields: [
      ['id', 'u64'],
      ['cpu', 'u32'],
      ['thread', 'u32'],
      ['value', 'u64'],
      ['timeEnabled', 'u64'],
      ['timeRunning', 'u64'],
    ],
  },
  {
    type: 'STAT_ROUND',
    name: 'StatRound',
    fields: [
      ['roundType', 'u64'],
      ['time', 'u64'],
    ],
  },
  {
    type: 'EVENT_UPDATE',
    name: 'EventUpdate',
    fields: [
      ['updateType', 'u64'],
      ['id', 'u64'],
      ['data', 'bytes'],
    ],
  },
  {
    type: 'TIME_CONV',
    name: 'TimeConv',
    fields: [
      ['timeShift', 'u64'],
      ['timeMult', 'u64'],
      ['timeZero', 'u64'],
      ['timeCycles', 'u64'],
      ['timeMask', 'u64'],
      ['capUserTimeZero', 'u8'],
      ['capUserTimeShort', 'u8'],
      ['reserved', 'bytes:6'],
    ],
  },
  {
    type: 'HEADER_FEATURE',
    name: 'HeaderFeature',
    fields: [
      ['featureId', 'u64'],
      ['data', 'bytes'],
    ],
  },
  { type: 'COMPRESSED', name: 'Compressed', fields: [['data', 'bytes']] },
  { type: 'FINISHED_INIT', name: 'FinishedInit', fields: [] },
  {
    type: 'COMPRESSED2',
    name: 'Compressed2',
    fields: [
      ['dataSize', 'u64'],
      ['data', 'bytes'],
    ],
  },
  {
    type: 'BPF_METADATA',
    name: 'BpfMetadata',
    fields: [
      // KSYM_NAME_LEN of perf since 6.1; 6.17 is the first that writes the record.
      ['programName', 'chars:512'],
      ['count', 'u64'],
      ['data', 'bytes'],
    ],
  },
  {
    type: 'SCHEDSTAT_CPU',
    name: 'SchedstatCpu',
    fields: [
      ['timestamp', 'u64'],
      ['cpu', 'u32'],
      ['version', 'u16'],
      ['padding', 'u16'],
      ['data', 'bytes'],
    ],
  },
  {
    type: 'SCHEDSTAT_DOMAIN',
    name: 'SchedstatDomain',
    fields: [
      ['timestamp', 'u64'],
      ['cpu', 'u32'],
      ['version', 'u16'],
      ['domain', 'u16'],
      ['domainName', 'chars:16'],
      ['data', 'bytes'],
    ],
  },
];
