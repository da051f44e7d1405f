import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { sourceModule, sourceOptions } from './sources.ts';

/**
 * perf_event_open as `strace -X raw -v -e trace=perf_event_open` prints it, without
 * what may differ from run to run.
 */
export interface TracedOpen {
  /** By the kernel's names. Fields that are 0, and the size, are left out. */
  attr: Record<string, bigint>;
  /** `command` for a process that the traced program has started. */
  pid: number | 'command';
  cpu: number;
  /** Index of the open that gave this descriptor. */
  groupLeader: number | null;
  flags: number;
  outcome: string;
}

/** Run a command under strace, which writes these calls to `path`. */
export function trace(calls: string, path: string, command: readonly string[]): void {
  const words = ['-f', '-v', '-X', 'raw', '-e', `trace=${calls}`, '-o', path, ...command];
  const { error } = spawnSync('strace', words, { stdio: 'ignore', timeout: 240_000 });
  assert.ifError(error);
}

const MARK = '/counterpoint-test-line-';

/** A path that does not exist tells the trace where each command line begins. */
const RUN_ALL = `
import { accessSync } from 'node:fs';
const { runCommandLine } = await import('${sourceModule('cli/main.ts')}');
const { Output } = await import('${sourceModule('cli/common/output.ts')}');
const sink = () => new Output({ isTerminal: false, columns: () => 0, write: () => {} }, {});
for (const [at, words] of JSON.parse(process.argv[1]).entries()) {
  try { accessSync('${MARK}' + at); } catch {}
  await runCommandLine(words, sink(), sink());
}
process.exit();`;

/** What our command lines open, all run in one process. */
export function traceCommandLines(
  lines: readonly (readonly string[])[],
  folder: string,
  known: ReadonlySet<number> = new Set(),
): TracedOpen[][] {
  const path = join(folder, 'ours');
  const node = [process.execPath, ...sourceOptions()];
  trace('perf_event_open,access,faccessat2', path, [
    ...[...node, '--input-type=module', '-e', RUN_ALL, '--'],
    JSON.stringify(lines),
  ]);
  const parts: string[][] = lines.map(() => []);
  let at = -1;
  for (const line of readFileSync(path, 'utf8').split('\n')) {
    if (line.includes(MARK)) at++;
    else if (at >= 0) parts[at]!.push(line);
  }
  return parts.map((part) => parseOpens(part, known));
}

/** Why nothing can be traced here, or false. */
export function straceIsMissing(): string | false {
  const probe = spawnSync('strace', ['-f', '-e', 'trace=perf_event_open', '-o', '/dev/null', 'true']);
  return probe.status === 0 ? false : 'strace is not installed, or may not trace here';
}

const OPEN = /perf_event_open\(\{(.*)\}, (-?\d+), (-?\d+), (-?\d+), (\S+)\) = (-?\d+)(?: (\w+))?/;
/** Other names of the same words, for breakpoints. */
const ALIASES: Readonly<Record<string, string>> = { bp_addr: 'config1', bp_len: 'config2' };

/** `known` are tasks that were there before; others are the command's. */
export function parseOpens(lines: readonly string[], known: ReadonlySet<number>): TracedOpen[] {
  const opens: TracedOpen[] = [];
  const indexOf = new Map<string, number>();
  for (const line of joined(lines)) {
    const match = OPEN.exec(line);
    if (match === null) continue;
    const [, fields = '', pid = '', cpu = '', group = '', flags = '', result = '', code] = match;
    const task = Number(pid);
    opens.push({
      attr: attrOf(fields),
      pid: task <= 0 || known.has(task) ? task : 'command',
      cpu: Number(cpu),
      groupLeader: group === '-1' ? null : (indexOf.get(group) ?? Number.NaN),
      flags: Number(flags),
      outcome: code ?? 'opened',
    });
    if (code === undefined) indexOf.set(result, opens.length - 1);
  }
  return opens;
}

/** A call that another thread's stands in between comes in two halves. */
function joined(lines: readonly string[]): string[] {
  const halves = new Map<string, string>();
  return lines.map((line) => {
    const thread = line.split(' ')[0]!;
    const open = line.indexOf(' <unfinished ...>');
    if (open >= 0) halves.set(thread, line.slice(0, open));
    const resumed = line.indexOf(' resumed>');
    return resumed < 0 ? line : (halves.get(thread) ?? '') + line.slice(resumed + ' resumed>'.length);
  });
}

function attrOf(fields: string): Record<string, bigint> {
  const attr: Record<string, bigint> = {};
  for (const field of fields.replace(/ \/\*.*?\*\//g, '').split(', ')) {
    const [name = '', value = '0'] = field.split('=');
    const word = wordOf(value);
    if (name !== 'size' && word !== 0n) attr[ALIASES[name] ?? name] = word;
  }
  return attr;
}

/** `0x10`, or for cache events `1<<16|0<<8|2`. */
function wordOf(text: string): bigint {
  return text.split('|').reduce((word, part) => {
    const [value = '0', shift = '0'] = part.split('<<');
    return word | (BigInt(value) << BigInt(shift));
  }, 0n);
}

/** An open as `--plan --json` has it. */
export interface PlannedOpen {
  event: string;
  attr: Record<string, string | number>;
  pid: number | null;
  cgroup: string | null;
  cpu: number;
  groupLeader: number | null;
  flags: number;
}

export function asTraced({ attr, pid, cgroup, cpu, groupLeader, flags }: PlannedOpen): TracedOpen {
  const fields = Object.entries(attr)
    .map(([name, value]): [string, bigint] => [ALIASES[name] ?? name, BigInt(value)])
    .filter(([name, value]) => name !== 'size' && value !== 0n);
  const who = cgroup !== null ? 0 : (pid ?? 'command');
  return { attr: Object.fromEntries(fields), pid: who, cpu, groupLeader, flags, outcome: 'opened' };
}

/** For a control group the pid is a descriptor, which a plan does not have. */
export function withoutCgroup(open: TracedOpen): TracedOpen {
  return (open.flags & 4) === 0 ? open : { ...open, pid: 0 };
}
