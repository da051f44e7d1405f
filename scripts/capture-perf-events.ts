/**
 * Asks the installed perf what it makes of event names; see `fixtures/events/README.md`. Prints the
 * table. The word is a folder there.
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

interface Machine {
  pmus: Record<
    string,
    {
      type: number;
      formats: Record<string, string>;
      events: Record<string, { terms: string; unit?: string; scale?: number }>;
      cpus?: string;
      isCore?: boolean;
    }
  >;
  tracepoints: Record<string, number>;
}

const fixture = new URL(`../fixtures/events/${process.argv[2] ?? '.'}/`, import.meta.url);
const machine: Machine = JSON.parse(readFileSync(new URL('machine.json', fixture), 'utf8'));
const texts = readFileSync(new URL('texts.txt', fixture), 'utf8').split('\n').slice(0, -1);
const dir = mkdtempSync(join(tmpdir(), 'perf-events-'));

function put(path: string, text: string | number): void {
  mkdirSync(dirname(join(dir, path)), { recursive: true });
  writeFileSync(join(dir, path), `${text}\n`);
}

for (const [name, { type, formats, events, cpus, isCore }] of Object.entries(machine.pmus)) {
  const pmu = `sys/bus/event_source/devices/${name}`;
  put(`${pmu}/type`, type);
  if (cpus !== undefined) put(`${pmu}/${isCore === true ? 'cpus' : 'cpumask'}`, cpus);
  for (const [term, bits] of Object.entries(formats)) put(`${pmu}/format/${term}`, bits);
  for (const [event, { terms, unit, scale }] of Object.entries(events)) {
    put(`${pmu}/events/${event}`, terms);
    if (unit !== undefined) put(`${pmu}/events/${event}.unit`, unit);
    if (scale !== undefined) put(`${pmu}/events/${event}.scale`, scale);
  }
  mkdirSync(join(dir, 'sys/devices'), { recursive: true });
  symlinkSync(join(dir, pmu), join(dir, 'sys/devices', name));
}
for (const [full, id] of Object.entries(machine.tracepoints)) {
  const event = `tracing/events/${full.replace(':', '/')}`;
  put(`${event}/id`, id);
  put(
    `${event}/format`,
    `name: ${full.split(':')[1]}
ID: ${id}
format:
	field:int common_pid;	offset:4;	size:4;	signed:1;

print fmt: ""`,
  );
}

/** Of `stat`, not of the event. */
const COMMON = ['size', 'sample_type', 'read_format', 'disabled', 'inherit', 'enable_on_exec'];

function attrFields(text: string): string[] {
  return text
    .replace(/\/\*.*?\*\//g, '')
    .split(', ')
    .map((field) => field.trim().split('=') as [string, string])
    .map(([name, value]): [string, string] => [name, cacheConfig(value)])
    .filter(([name, value]) => BigInt(value) !== 0n && !COMMON.includes(name))
    .map(([name, value]) => `${name}=0x${BigInt(value).toString(16)}`);
}

/** strace shows generic events in parts: `result<<16|operation<<8|cache`, and `pmu<<32|event`. */
function cacheConfig(value: string): string {
  const parts = value.split('|').map((part) => part.split('<<').map(BigInt) as [bigint, bigint?]);
  return String(parts.reduce((sum, [bits, shift = 0n]) => sum | (bits << shift), 0n));
}

const [traceFile, statFile] = [join(dir, 'trace'), join(dir, 'stat')];
const lines: string[] = [];
for (const text of texts) {
  lines.push(text);
  rmSync(statFile, { force: true });
  const strace = ['-f', '-qq', '-X', 'raw', '-v', '-e', 'trace=perf_event_open', '-o', traceFile];
  const perf = ['perf', 'stat', '-x', '|', '-o', statFile, '-e', text, '--', 'true'];
  const run = spawnSync('strace', [...strace, ...perf], {
    env: { ...process.env, SYSFS_PATH: join(dir, 'sys'), TRACEFS_PATH: join(dir, 'tracing') },
    encoding: 'utf8',
  });
  const opens: { fields: string[]; cpu: number; group: number; result: string }[] = [];
  for (const line of readFileSync(traceFile, 'utf8').split('\n')) {
    const call = /perf_event_open\(\{(.*?)\}, (-?\w+), (-?\w+), (-?\w+), .*\) = (\S+)/.exec(line);
    if (call === null) continue;
    const open = {
      fields: attrFields(call[1]!),
      cpu: Number(call[3]) | 0,
      group: Number(call[4]) | 0,
      result: call[5]!,
    };
    const before = opens.at(-1);
    // After a refusal perf tries again with less.
    if (
      before !== undefined &&
      before.result === '-1' &&
      line.includes('EINVAL') &&
      isLess(open.fields, before.fields)
    )
      continue;
    opens.push(open);
  }
  let stat = '';
  try {
    stat = readFileSync(statFile, 'utf8');
  } catch {
    // perf refused the list.
  }
  const names = stat
    .split('\n')
    .flatMap((row) => (row === '' || row.startsWith('#') ? [] : [row.split('|')]));
  if (names.length === 0) {
    const error = /'(.*)'\n +\\___ (.*)/.exec(run.stderr);
    lines.push(`  error: ${error === null ? 'no place' : error[2]}`);
    continue;
  }
  opens.forEach(({ fields, group }, index) => {
    // PMUs of one name are added up in one row.
    const row = names.length === opens.length ? names[index]! : names[0]!;
    const leader = group < 0 ? [] : [`leader=${opens.findIndex(({ result }) => Number(result) === group)}`];
    // The milliseconds of clock events are the way `stat` prints them.
    const unit = row[1] === '' || row[1] === 'msec' ? [] : [`unit=${row[1]}`];
    lines.push(`  ${[row[2]!.trim(), ...fields, ...leader, ...unit].join(' | ')}`);
  });
}

function isLess(fields: string[], than: string[]): boolean {
  return fields.every((field) => than.includes(field));
}

console.log(lines.join('\n'));
rmSync(dir, { recursive: true });
