/** Children that are forked while handlers are attached: none is sampled in a way that nobody can read. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { PERF_RECORD_SAMPLE, PERF_SAMPLE_CALLCHAIN } from '@counterpoint/core/abi';
import { parseEvents } from '@counterpoint/core/events';
import { cannotLoad, countingProgram } from '../../../test/bpf-programs.ts';
import { attachToEvent, loadPrograms } from '../../kernel/bpf/index.ts';
import { systemEventLookup } from '../../kernel/local-pmus/index.ts';
import {
  lostOf,
  openSampledEvents,
  planEvents,
  planOpen,
  type SampledEvents,
} from '../../kernel/perf-events/index.ts';
import { liveHandles, realSys } from '../../kernel/sys/index.ts';
import { cgroupMounts, onlineCpus } from '../../kernel/target/index.ts';
import { checkFormatOptions, FormatRun, findFormat } from './index.ts';

const sys = realSys;
const WORK = 'i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done';

/**
 * A shell that forks for each line two children that work, and says when they are there and when they are
 * done. Two: the scheduler may give one of them the events of the shell, which has the handler.
 */
async function forker(t: TestContext) {
  const script = `while read -r word; do (echo there; ${WORK}) & (${WORK}) & wait; echo done; done`;
  const child = spawn('sh', ['-c', script], { stdio: ['pipe', 'pipe', 'inherit'] });
  t.after(() => child.kill('SIGKILL'));
  let said = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (said += text));
  const until = async (word: string) => {
    while (!said.includes(word)) await once(child.stdout, 'data');
    said = '';
  };
  return { pid: child.pid!, fork: () => child.stdin.write('fork\n'), until };
}

interface Muted {
  events?: string;
  /** Numbers of the events whose chains a handler finds. */
  muted?: readonly number[];
  /** Of what is in there, on all CPUs. */
  cgroup?: string;
}

/** As the format stacks has it: chains are what a handler finds. */
function openMuted(pid: number, { events = 'cpu-clock', muted = [0], cgroup }: Muted = {}): SampledEvents {
  const planned = planEvents(parseEvents(events, systemEventLookup()), {
    frequency: 1000,
    period: 100_000n,
    isRateGiven: true,
    callchains: 'both',
    inherit: cgroup === undefined,
    wholeCpus: cgroup !== undefined,
    enableOnExec: false,
    startsLater: false,
    sidebandApart: true,
    levels: 'all',
  });
  for (const one of muted) planned[one]!.sampleBitsOfOthers = BigInt(PERF_SAMPLE_CALLCHAIN);
  if (cgroup !== undefined)
    for (const event of planned.filter(({ isSideband }) => !isSideband)) event.cgroup = cgroup;
  const tasks = [cgroup === undefined ? pid : -1];
  return openSampledEvents(sys, planOpen(planned, { tasks, cpus: onlineCpus() }, 8, 8));
}

/** Samples that rings hold now. */
function samplesInRings(sampled: SampledEvents): number {
  return sampled.rings.reduce((sum, { ring }) => {
    let count = 0;
    const view = new DataView(ring.memory.data.buffer, ring.memory.data.byteOffset, ring.memory.data.length);
    // A ring that was never read begins at its first byte.
    for (let at = 0; at + 8 <= view.byteLength; ) {
      const size = view.getUint16(at + 6, true);
      if (size < 8) break;
      if (view.getUint32(at, true) === PERF_RECORD_SAMPLE) count++;
      at += size;
    }
    return sum + count;
  }, 0);
}

/** In the first hierarchy that the kernel takes for perf events; null where there is none. */
function newCgroup(t: TestContext, pid: number): string | null {
  for (const mount of cgroupMounts()) {
    const path = join(mount, `counterpoint-muted-${process.pid}`);
    try {
      mkdirSync(path);
    } catch {
      continue;
    }
    // Its processes were told to end before.
    t.after(async () => {
      for (let tries = 0; tries < 200; tries++)
        try {
          return rmdirSync(path);
        } catch {
          await sleep(20);
        }
    });
    writeFileSync(join(path, 'cgroup.procs'), `${pid}`);
    return path;
  }
  return null;
}

describe('muted events on the kernel', {
  skip: process.getuid?.() === 0 ? false : 'control groups need root',
}, () => {
  afterEach(() => assert.deepEqual(liveHandles(), []));

  for (const muted of [[0, 1], [0], [1]])
    test(`in a group: ${muted.length === 2 ? 'both' : ['the leader', 'the other'][muted[0]!]}`, async (t) => {
      const target = await forker(t);
      using sampled = openMuted(target.pid, { events: '{cpu-clock,task-clock}', muted });
      sampled.enable();
      target.fork();
      await target.until('done');
      sampled.disable();
      const events = sampled.events.filter(({ isSideband }) => !isSideband);
      assert.deepEqual(
        events.map(({ isMuted }) => isMuted),
        [0, 1].map((event) => muted.includes(event)),
      );
      for (const event of events.filter(({ isMuted }) => isMuted))
        assert.ok(lostOf(sys, event)!.lostSamples > 20n, event.name);
      assert.equal(samplesInRings(sampled) > 0, muted.length < 2);
    });

  test('of a control group', async (t) => {
    const target = await forker(t);
    const cgroup = newCgroup(t, target.pid);
    if (cgroup === null) return t.diagnostic('no control group can be made here');
    using sampled = openMuted(target.pid, { cgroup });
    sampled.enable();
    target.fork();
    await target.until('done');
    sampled.disable();
    const [event] = sampled.events as [(typeof sampled.events)[0]];
    assert.ok(event.isMuted && lostOf(sys, event)!.lostSamples > 20n);
    assert.equal(samplesInRings(sampled), 0);
  });
});

describe('events whose handlers are attached after a fork', { skip: cannotLoad() }, () => {
  afterEach(() => assert.deepEqual(liveHandles(), []));

  test('what the kernel samples of the child is in no ring, and counted as lost', async (t) => {
    const target = await forker(t);
    using sampled = openMuted(target.pid);
    const [event] = sampled.events as [(typeof sampled.events)[0]];
    using set = loadPrograms(sys, [countingProgram('perf-event', 0)]);
    target.fork();
    await target.until('there');
    const attached = event.instances.map(({ fd }) => attachToEvent(sys, set.program('count'), fd));
    sampled.enable();
    await target.until('done');
    sampled.disable();
    const { lostSamples } = lostOf(sys, event)!;
    for (const one of attached) one[Symbol.dispose]();
    assert.ok(lostSamples > 20n, `${lostSamples} lost`);
    assert.deepEqual(
      sampled.readLost().map(({ event: { isSideband } }) => isSideband),
      [true],
    );
  });

  test('a format is there before those that are forked from now on', async (t) => {
    const target = await forker(t);
    using sampled = openMuted(target.pid);
    // Forked between the first event and the program: it is not of the recording.
    target.fork();
    await target.until('there');
    const format = await findFormat('stacks');
    const events = sampled.events.filter(({ isSideband }) => !isSideband);
    using run = FormatRun.open(sys, {
      format,
      options: checkFormatOptions(format.name, format.options, {}),
      events,
      target: { kind: 'processes', ids: [target.pid], cpus: onlineCpus(), inherits: true },
    });
    sampled.enable();
    await target.until('done');
    target.fork();
    await target.until('done');
    sampled.disable();
    run.stop();
    const { overflows, losses } = run.finish();
    assert.ok(overflows[0]! > 20n, `${overflows[0]} overflows`);
    assert.deepEqual(
      losses.filter(({ kind }) => kind === 'format-not-attached'),
      [],
    );
  });
});
