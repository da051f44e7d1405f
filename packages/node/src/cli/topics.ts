/** What `counterpoint help TOPIC` explains: what would be too long for the row of an option. */
import { besideLines, wrapped } from './common/wrap.ts';

export interface Topic {
  readonly name: string;
  readonly summary: string;
  readonly load: () => Promise<string>;
}

type Section = readonly [title: string, rows: readonly (readonly [left: string, right: string])[]];

const LEFT_COLUMNS = 26;

export const TOPICS: readonly Topic[] = [
  { name: 'events', summary: 'how events are named', load: async () => page(EVENTS) },
  { name: 'formats', summary: 'what happens at an overflow, in the kernel', load: formats },
  {
    name: 'itrace',
    summary: 'the letters of --itrace: samples from a hardware trace',
    load: async () => page(ITRACE),
  },
  { name: 'triggers', summary: 'what makes counterpoint flight write a file', load: triggers },
  { name: 'time', summary: 'the parts of a recording that --time takes', load: async () => page(TIME) },
];

function page({
  title,
  text,
  sections,
}: {
  title: string;
  text: string;
  sections: readonly Section[];
}): string {
  const lines = [`counterpoint help: ${title}`, '', ...wrapped(text, '')];
  for (const [heading, rows] of sections)
    lines.push('', `${heading}:`, ...rows.flatMap(([left, right]) => besideLines(left, right, LEFT_COLUMNS)));
  return `${lines.join('\n')}\n`;
}

const EVENTS = {
  title: 'how events are named',
  text:
    'Give events to -e, separated by commas. The grammar is that of perf. `counterpoint list` shows the events of this ' +
    'machine; `counterpoint list WORD` searches them.',
  sections: [
    [
      'Names',
      [
        ['cycles, instructions', 'events of the processor'],
        ['cpu-clock, page-faults', 'events of the kernel (software events)'],
        ['sched:sched_switch', 'a tracepoint; sched:* is every tracepoint of a group'],
        ['PMU/TERM=VALUE,.../', 'an event of one PMU, such as msr/tsc/ or cpu/event=0xc0,umask=0x01/'],
        ['r01c0', 'the raw code of an event, in hexadecimal'],
        ['mem:0xADDRESS/LEN:rw', 'a breakpoint on memory'],
        ['uprobe:FILE:FUNCTION', 'calls of a function of a program or library; uretprobe is its returns'],
        ['kprobe:FUNCTION', 'calls of a function of the kernel; kretprobe is its returns'],
      ],
    ],
    [
      'After a name',
      [
        [':u :k :h', 'only in user space, in the kernel, in the hypervisor'],
        [':p :pp :ppp', 'with less and less skid'],
        [':S', 'in a group: sample the first event, and read the others with it'],
        [':D', 'pinned: always on the processor'],
        ['/period=N/ /freq=HZ/', 'a period or frequency of its own'],
        ['/name=TEXT/', 'a name of its own'],
      ],
    ],
    ['Groups', [["'{cycles,instructions}'", 'events that are counted at the same time, or not at all']]],
  ],
} as const satisfies Parameters<typeof page>[0];

const ITRACE = {
  title: 'samples from a hardware trace (Intel PT)',
  text:
    'Give letters to --itrace: `--itrace=cr` makes a sample of each call and each return. `--no-itrace` leaves the trace alone. ' +
    'Without the option, report takes igGxwpoeI and script cepwxoI.',
  sections: [
    [
      'Samples',
      [
        [
          'i',
          'instructions; i100us is a sample every 100 microseconds (units: i instructions, t ticks, ms, us, ns)',
        ],
        ['y', 'cycles, with a period like that of i'],
        ['b, c, r', 'branches: all, calls, returns'],
        ['x, w, p', 'transactions, values of ptwrite, power events'],
        ['o, I', 'PEBS records, events of the event trace'],
        ['e', 'errors of decoding; e-o leaves out overflows, e-l leaves out lost data'],
      ],
    ],
    [
      'With each sample',
      [
        ['g16, l64', 'a call chain of at most 16 frames, the last 64 branches'],
        ['G, L', 'the same for the samples that were recorded beside the trace'],
        ['A', 'cycles wherever time advances; script -F +ipc shows instructions per cycle'],
        ['Z', 'no times'],
      ],
    ],
    [
      'How',
      [
        ['s1000', 'skip the first 1000 samples'],
        ['q, qq', 'quick: less detail, without the code'],
        [
          'd',
          'write a log of decoding to intel_pt.log; d+e: only around errors, d+o: to the output, d-a: without records of the kernel',
        ],
      ],
    ],
  ],
} as const satisfies Parameters<typeof page>[0];

const TIME = {
  title: 'the parts of a recording that --time takes',
  text: 'Times are in seconds, as script prints them; put blanks between several. Parts of the whole are in percent; put commas between several.',
  sections: [
    [
      'Forms',
      [
        ['FROM,TO', 'from a time to a time, both included'],
        ['FROM,', 'from a time to the end'],
        [',TO', 'from the beginning to a time'],
        ['10%-20%,40%-50%', 'parts of the whole'],
        ['10%', 'the first tenth'],
        ['10%/2', 'the second tenth'],
      ],
    ],
  ],
} as const satisfies Parameters<typeof page>[0];

async function triggers(): Promise<string> {
  const { TRIGGER_KINDS } = await import('../linux/sample/flight/index.ts');
  const row = ({ form, help }: (typeof TRIGGER_KINDS)[number]) => [form, help] as const;

  return page({
    title: 'triggers of counterpoint flight',
    text:
      'Give each trigger to --on; any of them writes a file. Triggers by something that happens write one file in ' +
      '--min-interval, and the rest are counted. A person and a clock are not held back. A TIME has a unit, such as 500ms, 2s or 5m; ' +
      'a number alone is in milliseconds.',
    sections: [
      [
        'By a person',
        [
          ['key', 'the key Enter, if flight has the terminal for itself (with -p or -a)'],
          [
            'control:PIPE[,ANSWERS]',
            'the line `snapshot`, with or without a reason, in a named pipe; the answer is ack',
          ],
          ...TRIGGER_KINDS.filter(({ name }) => name === 'signal').map(row),
        ],
      ],
      ['By a clock', TRIGGER_KINDS.filter(({ name }) => name === 'every').map(row)],
      [
        'By something that happens',
        TRIGGER_KINDS.filter(({ name }) => name !== 'signal' && name !== 'every').map(row),
      ],
    ],
  });
}

async function formats(): Promise<string> {
  const { builtInFormats, describeFormat } = await import('../linux/sample/formats/index.ts');
  const descriptions = await Promise.all([...builtInFormats].map((name) => describeFormat(name)));
  return page({
    title: 'what happens at an overflow, in the kernel',
    text:
      'Without --format, the kernel writes a record for each overflow. A format is a program in the kernel that does something else: ' +
      'it counts, or keeps a record of your choice. `record --format histogram` chooses one; several can share a target, each with ' +
      'its own copies of the events.',
    sections: [
      ['Built in', descriptions.map(({ name, summary }) => [name, summary] as const)],
      [
        'More',
        [
          ['NAME,OPTION=VALUE', 'an option: --format histogram,max-entries=64k'],
          ['NAME,help', 'the options of a format'],
          ['./my-format.ts', 'a format of your own: a module whose default export is defineFormat({ … })'],
          ['counterpoint list formats', 'all formats with their options'],
        ],
      ],
    ],
  });
}
