import type { ProfileBranches } from './branches.ts';
import type { Int32Column } from './column.ts';
import { NONE, type Profile } from './profile.ts';

/**
 * Throws where a table refers outside another, a parent comes after its child, or columns differ in length.
 */
export function assertTableInvariants(profile: Profile): void {
  const { binaries, events, frames, jitCode, samples, sources, stacks, strings, symbols, threads } = profile;
  sameLength('symbols', symbols.length, [symbols.binary]);
  sameLength('frames', frames.length, [
    frames.symbol,
    frames.addressLo,
    frames.addressHi,
    frames.symbolOffset,
    frames.mode,
    frames.jitCode,
    frames.source,
  ]);
  sameLength('jitCode', jitCode.length, [jitCode.recordedName, jitCode.tier]);
  sameLength('sources', sources.length, [sources.file, sources.column]);
  sameLength('stacks', stacks.length, [stacks.frame]);
  sameLength('threads', threads.length, [threads.tid, threads.comm]);
  sameLength('samples', samples.length, [
    samples.thread,
    samples.comm,
    samples.cpu,
    samples.event,
    samples.timeNs,
    samples.weight,
    samples.count,
  ]);
  inRange('symbols.name', symbols.name, 0, strings.size);
  inRange('symbols.binary', symbols.binary, 0, binaries.length);
  inRange('frames.binary', frames.binary, 0, binaries.length);
  inRange('frames.symbol', frames.symbol, NONE, symbols.length);
  inRange('frames.jitCode', frames.jitCode, NONE, jitCode.length);
  inRange('frames.source', frames.source, NONE, sources.length);
  inRange('sources.file', sources.file, 0, strings.size);
  inRange('jitCode.recordedName', jitCode.recordedName, 0, strings.size);
  inRange('jitCode.tier', jitCode.tier, 0, strings.size);
  inRange('stacks.frame', stacks.frame, 0, frames.length);
  inRange('threads.comm', threads.comm, 0, strings.size);
  inRange('samples.thread', samples.thread, 0, threads.length);
  inRange('samples.comm', samples.comm, 0, strings.size);
  inRange('samples.event', samples.event, 0, events.length);
  inRange('samples.stack', samples.stack, NONE, stacks.length);
  if (profile.branches !== null) assertBranches(profile.branches, frames.length, events.length);
  for (let row = 0; row < stacks.length; row++) {
    const prefix = stacks.prefix.at(row);
    if (prefix < NONE || prefix >= row)
      throw new Error(`stacks.prefix[${row}] = ${prefix} is not an earlier row`);
  }
}

function assertBranches({ edges, ranges }: ProfileBranches, frames: number, events: number): void {
  sameLength('branches.edges', edges.length, [
    edges.event,
    edges.from,
    edges.to,
    edges.type,
    edges.predicted,
    edges.mispredicted,
    edges.cycles,
    edges.withCycles,
  ]);
  sameLength('branches.ranges', ranges.length, [
    ranges.event,
    ranges.first,
    ranges.last,
    ranges.cycles,
    ranges.withCycles,
  ]);
  for (const column of [edges.event, ranges.event]) inRange('branches.event', column, 0, events);
  for (const column of [edges.from, edges.to, ranges.first, ranges.last])
    inRange('branches.frames', column, 0, frames);
}

function sameLength(table: string, length: number, columns: { length: number }[]): void {
  for (const column of columns) {
    if (column.length !== length)
      throw new Error(`${table}: a column has ${column.length} rows, not ${length}`);
  }
}

function inRange(name: string, column: Int32Column, from: number, to: number): void {
  for (let row = 0; row < column.length; row++) {
    const value = column.at(row);
    if (value < from || value >= to)
      throw new Error(`${name}[${row}] = ${value} is outside ${from}..${to - 1}`);
  }
}
