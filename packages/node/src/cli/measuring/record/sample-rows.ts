import { optional } from '@counterpoint/core/base';
import {
  REGISTER_NAMES,
  type SamplePart,
  type SidebandPart,
} from '../../../linux/kernel/perf-events/index.ts';
import type { RecordOptions } from '../../../linux/sample/record/index.ts';
import type { OptionRow } from '../../common/option-row.ts';
import type { ParsedArguments } from '../../common/parsed-arguments.ts';

/** perf's switches: what each adds to samples. */
const PARTS = {
  data: 'data-address',
  'phys-data': 'physical-address',
  'data-page-size': 'data-page-size',
  'code-page-size': 'code-page-size',
  weight: 'weight',
  transaction: 'transaction',
  'raw-samples': 'raw',
  'sample-cpu': 'cpu',
  period: 'period',
} as const satisfies Record<string, SamplePart>;

/** What each adds beside samples. */
const SIDEBAND = {
  'switch-events': 'switches',
  namespaces: 'namespaces',
  'all-cgroups': 'cgroups',
} as const satisfies Record<string, SidebandPart>;

export type SampleRowName =
  | keyof typeof PARTS
  | keyof typeof SIDEBAND
  | 'intr-regs'
  | 'user-regs'
  | 'timestamp'
  | 'stat'
  | 'no-samples'
  | 'no-bpf-event';

const ALL = 'all';

/** Rows of `record`, by perf's names. */
export function sampleRows(group: string): OptionRow<SampleRowName>[] {
  const registers = `of ${REGISTER_NAMES.slice(0, 3).join(', ')}, ...; without a list, all`;
  const row = (long: SampleRowName, help: string, short?: string): OptionRow<SampleRowName> => ({
    long,
    help,
    group,
    ...optional({ short }),
  });
  const list = { value: 'REGISTERS', optionalValue: ALL } as const;
  return [
    row('data', 'addresses of the data, and where it came from', 'd'),
    row('phys-data', 'physical addresses of the data'),
    row('data-page-size', 'size of the page that the data is in'),
    row('code-page-size', 'size of the page that the code is in'),
    row('weight', 'the cost of the access, if the CPU tells it', 'W'),
    row('transaction', 'flags of hardware transactions'),
    row('raw-samples', 'raw data also of events that are not tracepoints', 'R'),
    row('sample-cpu', 'the CPU, also of a command or process'),
    row('timestamp', 'accepted for perf: samples always have their time', 'T'),
    row('period', 'the period, even if it is fixed', 'P'),
    { ...row('intr-regs', `registers at the event, ${registers}`), ...list },
    { ...row('user-regs', `registers of user space, ${registers}`), ...list },
    row(
      'no-samples',
      'take no samples; record only what is recorded beside them, such as maps and forks',
      'n',
    ),
    row('stat', 'when a task ends, record its count of each event (perf report -T)', 's'),
    row('no-bpf-event', 'do not record which BPF programs come and go'),
    row('switch-events', 'record when tasks are switched'),
    row('namespaces', 'record the namespaces of tasks'),
    row('all-cgroups', 'record the cgroup of each sample, and the names of cgroups'),
  ];
}

type Arguments = Pick<ParsedArguments<SampleRowName>, 'boolean' | 'string'>;

/** What these rows say, as far as they were given. */
export function sampleOptions(args: Arguments): Partial<RecordOptions> {
  const given = <Name extends SampleRowName, Part>(table: Record<Name, Part>) =>
    Object.entries<Part>(table)
      .filter(([name]) => args.boolean(name as Name))
      .map(([, part]) => part);
  const sampleParts = given(PARTS);
  const sideband = given(SIDEBAND);
  const interruptRegisters = registers(args.string('intr-regs'));
  const userRegisters = registers(args.string('user-regs'));
  return {
    ...(sampleParts.length > 0 ? { sampleParts } : {}),
    ...(sideband.length > 0 ? { sideband } : {}),
    ...(interruptRegisters === null ? {} : { interruptRegisters }),
    ...(args.boolean('no-samples') ? { samples: false } : {}),
    ...(args.boolean('stat') ? { taskCounts: true } : {}),
    ...(args.boolean('no-bpf-event') ? { bpfPrograms: false } : {}),
    ...(userRegisters === null ? {} : { userRegisters }),
  };
}

function registers(text: string | undefined): readonly string[] | 'all' | null {
  if (text === undefined) return null;
  return text === ALL ? ALL : text.split(',').filter((name) => name !== '');
}
