/** Formats beside each other, beside others' programs, and after their recorder's violent end. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, test } from 'node:test';
import { PERF_TYPE_TRACEPOINT } from '@counterpoint/core/abi';
import { encodeAttr, makeAttr } from '@counterpoint/core/records';
import { EXIT, goes, makeProgram, returns } from '../../../test/bpf-programs.ts';
import { commandLineProcess } from '../../../test/command-line.ts';
import { recordSamples, noFormats as skip } from '../../../test/format-recording.ts';
import { attachToEvent, listLinks, listMaps, listPrograms, loadPrograms } from '../../kernel/bpf/index.ts';
import { systemTracepoint } from '../../kernel/local-pmus/index.ts';
import { liveHandles, realSys } from '../../kernel/sys/index.ts';

afterEach(() => assert.deepEqual(liveHandles(), []));
const folder = mkdtempSync(join(tmpdir(), 'counterpoint-neighbours-'));
after(() => rmSync(folder, { recursive: true }));

const BUSY = ['sh', '-c', 'i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; sleep 0.1'];

test('four formats on one target: each sees all of it', { skip }, async () => {
  const { result, events } = await recordSamples({
    command: BUSY,
    events: 'task-clock',
    period: 500_000,
    formats: ['histogram', 'stacks', 'on-miss', 'off-cpu'],
  });
  const sums = events.map(({ samples }) => samples.reduce((sum, { period }) => sum + Number(period), 0));
  const [histogram, stacks, records, offCpu] = sums as [number, number, number, number];
  assert.ok(histogram > 50e6, `${histogram} ns`);
  for (const sum of [stacks, records])
    assert.ok(Math.abs(sum - histogram) < histogram / 5, `${sum} beside ${histogram} ns`);
  assert.ok(offCpu >= 0.1e9, `${offCpu} ns off the CPU`);
  assert.deepEqual(
    result.formats.slice(0, 3).map(({ overflows }) => Number(overflows) * 500_000),
    [histogram, stacks, records],
  );
});

test("another's program on the tracepoint that is recorded is said", { skip }, async () => {
  const { id } = systemTracepoint('syscalls', 'sys_enter_getpriority');
  const attr = makeAttr({ type: PERF_TYPE_TRACEPOINT, config: BigInt(id), flags: { disabled: 1 } });
  using set = loadPrograms(realSys, [makeProgram('stranger', 'tracepoint', [returns(1), EXIT])]);
  using event = realSys.perfEventOpen(encodeAttr(attr), -1, 0, null);
  using _ = attachToEvent(realSys, set.program('stranger'), event);
  const notesOf = async (events: string, formats: string[]) => {
    const { result } = await recordSamples({ command: ['true'], events, formats });
    return result.notes.filter(({ kind }) => kind === 'other-programs').map(({ text }) => text);
  };
  const [onTracepoint] = await notesOf('syscalls:sys_enter_getpriority', []);
  assert.match(onTracepoint!, /on syscalls:sys_enter_getpriority: .*stranger \(\d+\).*return 0/);
  const elsewhere = await notesOf('task-clock', ['histogram']);
  assert.match(elsewhere.join(), /also watch this machine.*\(\w/);
  assert.doesNotMatch(elsewhere.join(), /\bbuckets\b/);
});

const NAME = `killed_${process.pid}`;
const KILLED = `import { defineFormat, r0 } from 'counterpoint/formats';
const counts = { name: '${NAME}', type: 'array', keySizeBytes: 4, valueSizeBytes: 8, maxEntries: 1 } as const;
export default defineFormat({
  name: '${NAME}', version: 1, summary: '', options: {},
  plan: () => ({
    programs: [{
      name: '${NAME}_t',
      attach: { kind: 'raw-tracepoint', name: 'sched_switch' },
      assemble: (asm) => asm.countInMap(counts, 0),
    }],
  }),
  onOverflow: (asm) => asm.countInMap(counts, 0),
  async *collect(maps, { next }) { while ((await next()) !== 'stopped'); },
});
`;

test('a recorder that is killed leaves no program, map or link', { skip, timeout: 60_000 }, async () => {
  const format = join(folder, 'killed.ts');
  writeFileSync(format, KILLED);
  const words = ['record', '--format', format, '-e', 'cpu-clock', '-a', '-o', join(folder, 'killed.data')];
  const child = spawn(process.execPath, [...commandLineProcess(), ...words], { stdio: 'inherit' });
  const exited = once(child, 'exit');
  // The kernel keeps 15 characters of a name.
  const isOurs = ({ name }: { name: string }) => name.startsWith(NAME.slice(0, 15));
  const found = () => {
    const programs = listPrograms(realSys).filter(isOurs);
    const ids = new Set(programs.map(({ id }) => id));
    const links = listLinks(realSys).filter(({ programId }) => ids.has(programId));
    return { programs: programs.length, maps: listMaps(realSys).filter(isOurs).length, links: links.length };
  };
  try {
    while (found().links < 2 && child.exitCode === null)
      await new Promise((resolve) => setTimeout(resolve, 100));
    const { programs, maps } = found();
    assert.deepEqual({ programs, maps }, { programs: 2, maps: 1 });
    child.kill('SIGKILL');
    await exited;
    await goes(() => Object.values(found()).some((count) => count > 0));
  } finally {
    child.kill('SIGKILL');
  }
});
