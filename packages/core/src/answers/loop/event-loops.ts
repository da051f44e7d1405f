import type { Diagnostic } from '../../base/index.ts';
import type { RecordSource } from '../../file-formats/perfdata/index.ts';
import { type IngestOptions, ingestPerfData } from '../../profile/ingest/index.ts';
import { viewJavascript } from '../../profile/javascript/index.ts';
import { NONE, type Profile } from '../../profile/tables/index.ts';
import { Functions } from '../query/functions.ts';
import { WaitingPlaces } from '../query/waiting-place.ts';
import type { LoopBlocker, LoopOptions, LoopRow, LoopsAnswer } from './loop-answer.ts';
import { isSwitchEvent, LoopRecords } from './loop-records.ts';
import { OffCpuSpans } from './off-cpu-spans.ts';
import { placeParts } from './place-parts.ts';
import { IDLE, PoolWork } from './pool-work.ts';
import { StackBlame } from './stack-blame.ts';
import { ThreadLoop } from './thread-loop.ts';
import { partsOfTurn, type ThreadSamples, type TurnPart } from './turn-parts.ts';
import { percentOf, TurnSums, tellTurn } from './turn-story.ts';

const DEFAULT_SLOW_NS = 20e6;
const DEFAULT_LIMIT = 10;
const MOST_BLOCKERS = 50;
/** Steps of the histogram: 10 us, 100 us, ... */
const EDGES_NS = [1e4, 1e5, 1e6, 2e6, 5e6, 1e7, 2e7, 5e7, 1e8, 2e8, 5e8, 1e9, 1e10];

/**
 * The turns of event loops: of a recording that has the waits of loops (`record --loop`), the moments in
 * which threads leave their CPU and come back, and samples of a clock.
 */
export async function readEventLoops(
  source: RecordSource,
  options: LoopOptions & Omit<IngestOptions, 'aggregate' | 'innermostOnly'> = {},
): Promise<{ answer: LoopsAnswer; diagnostics: Diagnostic[] }> {
  const { slowNs = DEFAULT_SLOW_NS, limit = DEFAULT_LIMIT, ...ingest } = options;
  const records = new LoopRecords(source);
  const { profile, diagnostics } = await ingestPerfData(records, ingest);
  return { answer: new Teller(profile, records, slowNs, limit).answer(), diagnostics };
}

/** Samples of one thread, by what they are of. */
interface RowsOfThread {
  pid: number;
  tid: number;
  clock: number[];
  switches: number[];
}

class Teller {
  readonly #profile: Profile;
  readonly #records: LoopRecords;
  readonly #slowNs: number;
  readonly #limit: number;
  readonly #originNs: number;
  readonly #threads = new Map<number, RowsOfThread>();
  readonly #kernelWaits = new Map<number, string>();
  readonly #pool: PoolWork;
  readonly #blame: StackBlame;
  readonly #none = new OffCpuSpans();

  constructor(profile: Profile, records: LoopRecords, slowNs: number, limit: number) {
    this.#profile = profile;
    this.#records = records;
    this.#slowNs = slowNs;
    this.#limit = limit;
    this.#originNs = Number.isFinite(records.firstNs) ? records.firstNs : 0;
    this.#sortRows();
    for (const thread of this.#threads.values()) this.#placeSwitches(thread);
    // Kinds of work are read from functions that the view of JavaScript leaves out.
    this.#readKernelWaits();
    this.#pool = new PoolWork(profile, new Functions(profile));
    for (const thread of this.#threads.values()) this.#addPool(thread);
    viewJavascript(profile, 'categories');
    this.#blame = new StackBlame(profile, new Functions(profile));
  }

  answer(): LoopsAnswer {
    const { loops, former, lastNs } = this.#records;
    const seen = [...former, ...loops.values()];
    for (const thread of this.#threads.values()) {
      if (seen.some(({ tid }) => tid === thread.tid) || thread.pid !== thread.tid) continue;
      if (!thread.clock.some((row) => this.#isScript(row))) continue;
      seen.push(this.#withoutWaits(thread));
    }
    const rows = seen.map((loop) => this.#row(loop));
    const pidsOfScripts = new Set(rows.filter(({ role }) => role === 'worker').map(({ pid }) => pid));
    for (const { pid, clock } of this.#threads.values())
      if (clock.some((row) => this.#isScript(row))) pidsOfScripts.add(pid);
    return {
      type: 'event-loops',
      version: 1,
      durationNs: Math.max(0, Math.round(lastNs - this.#originNs)) || 0,
      slowNs: this.#slowNs,
      // A process with JavaScript has loops of its engine, too: of timers of the platform.
      loops: rows
        .filter(({ role, pid }) => role !== 'other' || !pidsOfScripts.has(pid))
        .sort((a, b) => ROLES.indexOf(a.role) - ROLES.indexOf(b.role) || a.pid - b.pid || a.tid - b.tid),
      pool: this.#pool.list(),
      notes: this.#notes(rows),
      loss: this.#profile.loss,
      damage: this.#profile.damage,
    };
  }

  #notes(rows: readonly LoopRow[]): string[] {
    const notes: string[] = [];
    if (this.#records.waitEvents === 0)
      notes.push('the recording has no waits of event loops (syscalls:sys_enter_epoll_wait and the like)');
    if (!this.#records.hasSwitches)
      notes.push('the recording does not say when threads were off the CPU: turns look like time on the CPU');
    if ([...this.#threads.values()].every(({ clock }) => clock.length === 0))
      notes.push('the recording has no samples of a clock: what turns did is not known');
    const doubtful = rows.reduce((sum, { doubtfulTurns }) => sum + doubtfulTurns, 0);
    if (doubtful > 0)
      notes.push(`records were lost in ${doubtful} turns: each may be several, so they are left out`);
    return notes;
  }

  #sortRows(): void {
    const { events, samples, threads } = this.#profile;
    const isSwitch = events.map(({ name }) => isSwitchEvent(name));
    const isClock = events.map(({ name }) => CLOCK_EVENT.test(name));
    for (let row = 0; row < samples.length; row++) {
      const thread = samples.thread.at(row);
      const tid = threads.tid.at(thread);
      let rows = this.#threads.get(tid);
      if (rows === undefined)
        this.#threads.set(tid, (rows = { pid: threads.pid.at(thread), tid, clock: [], switches: [] }));
      const event = samples.event.at(row);
      if (isSwitch[event]!) rows.switches.push(row);
      else if (isClock[event]!) rows.clock.push(row);
    }
  }

  /** The sample of a switch is taken just before the thread is off the CPU. */
  #placeSwitches({ tid, switches }: RowsOfThread): void {
    const spans = this.#records.spans.get(tid);
    if (spans === undefined) return;
    const { timeNs } = this.#profile.samples;
    let next = 0;
    let beganNs = Number.NEGATIVE_INFINITY;
    for (let index = 0; index < spans.length; index++) {
      const { startNs, endNs } = spans.span(index);
      let found = NONE;
      for (; next < switches.length && timeNs.at(switches[next]!) <= startNs; next++)
        if (timeNs.at(switches[next]!) >= beganNs) found = switches[next]!;
      if (found !== NONE) spans.setSample(index, found);
      beganNs = endNs;
    }
  }

  #readKernelWaits(): void {
    const functions = new Functions(this.#profile);
    const places = new WaitingPlaces(this.#profile, functions);
    const { frame } = this.#profile.stacks;
    const names = new Map<number, string | null>();
    for (const { switches } of this.#threads.values())
      for (const row of switches) {
        const stack = this.#profile.samples.stack.at(row);
        if (stack === NONE) continue;
        let name = names.get(stack);
        if (name === undefined) {
          const wait = places.waitOf(stack);
          name = wait === NONE ? null : functions.name(functions.ofFrame(frame.at(wait)));
          names.set(stack, name);
        }
        if (name !== null) this.#kernelWaits.set(row, name);
      }
  }

  #addPool(thread: RowsOfThread): void {
    const { pid, tid } = thread;
    if (pid === tid || this.#records.loops.has(tid)) return;
    const { stack } = this.#profile.samples;
    const kinds = [...thread.clock, ...thread.switches].map((row) => this.#pool.kindOf(stack.at(row)));
    if (kinds.every((kind) => kind === null)) return;
    const { firstNs, lastNs } = this.#records;
    for (const part of partsOfTurn(firstNs, lastNs, this.#samplesOf(thread), this.#spansOf(tid))) {
      const kind = part.row < 0 ? null : this.#pool.kindOf(stack.at(part.row));
      if (kind === null || kind === IDLE) continue;
      this.#pool.add(pid, tid, kind, part.endNs - part.startNs, part.state);
    }
  }

  #row(loop: ThreadLoop): LoopRow {
    const { pid, tid, lengths, timeline } = loop;
    const thread = this.#threads.get(tid) ?? { pid, tid, clock: [], switches: [] };
    const samples = this.#samplesOf(thread);
    const spans = this.#spansOf(tid);
    const all = this.#sums();
    const blockers = new Map<number, { timeNs: number; turns: number; longestTurnNs: number }>();
    let [slowTurns, slowTurnsNs] = [0, 0];
    for (const { startNs, endNs } of loop.kept.list) {
      const lengthNs = endNs - startNs;
      const isSlow = lengthNs >= this.#slowNs;
      const sums = isSlow ? this.#sums() : null;
      for (const part of this.#placed(startNs, endNs, samples, spans)) {
        all.add(part);
        sums?.add(part);
      }
      if (sums === null) continue;
      slowTurns++;
      slowTurnsNs += lengthNs;
      sums.functions().forEach(({ id, timeNs }, index) => {
        let sum = blockers.get(id);
        if (sum === undefined) blockers.set(id, (sum = { timeNs: 0, turns: 0, longestTurnNs: 0 }));
        sum.timeNs += timeNs;
        if (index > 0) return;
        sum.turns++;
        sum.longestTurnNs = Math.max(sum.longestTurnNs, lengthNs);
      });
    }
    const longest = [...loop.kept.list]
      .sort((a, b) => b.endNs - b.startNs - (a.endNs - a.startNs))
      .slice(0, this.#limit)
      .map((turn) => {
        const parts = this.#placed(turn.startNs, turn.endNs, samples, spans);
        const sums = this.#sums();
        for (const part of parts) sums.add(part);
        return tellTurn(turn, parts, sums, this.#facts());
      });
    const endNs = loop.endNs ?? this.#records.lastNs;
    const observedNs = loop.busyNs + loop.idleNs;
    return {
      pid,
      tid,
      comm: this.#commOf(tid),
      role: this.#roleOf(thread),
      state: loop.waits > 0 || loop.turns > 0 ? 'turns' : 'no-wait',
      startNs: Math.round(loop.firstNs - this.#originNs),
      endNs: Math.round(endNs - this.#originNs),
      turns: loop.turns,
      busyNs: Math.round(loop.busyNs),
      idleNs: Math.round(loop.idleNs),
      busyPercent: percentOf(loop.busyNs, observedNs),
      lengths: lengthsOf(lengths),
      histogram: histogramOf(lengths),
      doubtfulTurns: loop.doubtfulTurns,
      doubtfulNs: Math.round(loop.doubtfulNs),
      nestedWaits: loop.nestedWaits,
      slowTurns,
      slowTurnsNs: Math.round(slowTurnsNs),
      work: all.work(),
      waits: all.waits(),
      readyNs: Math.round(all.states.ready),
      waitingNs: Math.round(all.states.waiting),
      blockers: this.#blockers(blockers),
      longest,
      timeline: { binNs: timeline.binNs, busyNs: timeline.list(endNs).map(Math.round) },
    };
  }

  #blockers(
    sums: ReadonlyMap<number, { timeNs: number; turns: number; longestTurnNs: number }>,
  ): LoopBlocker[] {
    return [...sums]
      .sort(([, a], [, b]) => b.timeNs - a.timeNs)
      .slice(0, MOST_BLOCKERS)
      .map(([id, { timeNs, turns, longestTurnNs }]) => ({
        ...this.#blame.describe(id),
        timeNs: Math.round(timeNs),
        turns,
        longestTurnNs: Math.round(longestTurnNs),
      }));
  }

  #placed(startNs: number, endNs: number, samples: ThreadSamples, spans: OffCpuSpans): TurnPart[] {
    const parts = partsOfTurn(startNs, endNs, samples, spans);
    placeParts(parts, this.#profile, this.#blame);
    return parts;
  }

  #sums(): TurnSums {
    return new TurnSums(this.#blame, this.#kernelWaits);
  }

  #facts(): Parameters<typeof tellTurn>[3] {
    return {
      blame: this.#blame,
      kernelWaits: this.#kernelWaits,
      originNs: this.#originNs,
    };
  }

  #samplesOf({ clock }: RowsOfThread): ThreadSamples {
    const { timeNs } = this.#profile.samples;
    return { rows: clock, timeOf: (row) => timeNs.at(row) };
  }

  #spansOf(tid: number): OffCpuSpans {
    return this.#records.spans.get(tid) ?? this.#none;
  }

  /** A main thread that ran, and of which no wait was seen: one turn, cut at both ends. */
  #withoutWaits({ pid, tid, clock }: RowsOfThread): ThreadLoop {
    const { firstNs, lastNs } = this.#records;
    const startNs = this.#records.startOf(tid);
    const loop = new ThreadLoop(pid, tid, startNs ?? firstNs, startNs !== null);
    const ended = this.#records.endOf(tid);
    loop.end(ended ?? Math.max(lastNs, this.#profile.samples.timeNs.at(clock.at(-1)!)), ended !== null);
    return loop;
  }

  #isScript(row: number): boolean {
    return this.#blame.hasScript(this.#profile.samples.stack.at(row));
  }

  #roleOf({ pid, tid, clock, switches }: RowsOfThread): LoopRow['role'] {
    if (pid === tid) return 'main';
    return [...clock, ...switches].some((row) => this.#isScript(row)) ? 'worker' : 'other';
  }

  #commOf(tid: number): string {
    const { strings, threads } = this.#profile;
    const row = threads.tid.view().indexOf(tid);
    return row < 0 ? '' : strings.get(threads.comm.at(row));
  }
}

const ROLES: readonly LoopRow['role'][] = ['main', 'worker', 'other'];

/** Samples by time, or by cycles, of code that runs. */
const CLOCK_EVENT = /^(?:cpu-clock|task-clock|cpu-cycles|cycles|cpu\/(?:cpu-)?cycles)(?:[:/]|$)/;

function lengthsOf(lengths: ThreadLoop['lengths']): LoopRow['lengths'] {
  if (lengths.total === 0) return null;
  const at = (percent: number) => Math.round(lengths.percentileNs(percent)!);
  return {
    p50Ns: at(50),
    p90Ns: at(90),
    p99Ns: at(99),
    maxNs: Math.round(lengths.maxNs),
    meanNs: Math.round(lengths.sumNs / lengths.total),
  };
}

function histogramOf(lengths: ThreadLoop['lengths']): LoopRow['histogram'] {
  const counts = lengths.counts(EDGES_NS);
  const last = counts.findLastIndex((count) => count > 0);
  return counts
    .slice(0, last + 1)
    .map((turns, index) => ({ fromNs: EDGES_NS[index - 1] ?? 0, toNs: EDGES_NS[index] ?? null, turns }));
}
