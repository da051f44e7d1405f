import { NONE, type Profile } from '../../../profile/tables/index.ts';
import { ByteWriter } from '../byte-writer.ts';
import { VENDOR_KEY, vendorFacts } from '../loss-words.ts';
import { type ExportOptions, planExport } from '../options.ts';
import { childLists } from '../stacks/comm-tree.ts';
import { type FrameLabel, labelFrames } from '../stacks/frame-labels.ts';
import { buildLabelTree, type LabelTree } from '../stacks/label-tree.ts';
import { chosenThread, IDLE, type Timeline, timelineOf } from './timeline.ts';

const COMMA = 0x2c;
/** Ids of the nodes that every file has. Functions come behind them. */
const ROOT = 1;
const PROGRAM = 2;
const IDLE_NODE = 3;
const FIRST_FUNCTION = 4;
const NS_PER_US = 1000;

/** `Runtime.CallFrame` of the DevTools protocol: lines and columns from 0, -1 if there is none. */
interface CallFrame {
  functionName: string;
  scriptId: string;
  url: string;
  lineNumber: number;
  columnNumber: number;
}

/**
 * V8's CPU profile, a `Profiler.Profile` of the DevTools protocol, as `node --cpu-prof` writes it: a timeline
 * of one thread for the performance panel of Chrome, VS Code and others. The thread is the one that
 * JavaScript ran on for longest; `tid` of a filter chooses another.
 *
 * Lines (`positionTicks`) are there where the line was recorded.
 *
 * `(idle)` is time in which the thread was not on a CPU, where the event is a clock that stands
 * still then; `(program)` is samples without a stack.
 */
export function* writeCpuProfile(
  profile: Profile,
  options: ExportOptions = {},
): Generator<Uint8Array<ArrayBuffer>> {
  const plan = planExport(profile, options, 'period');
  const { labels, ofFrame } = labelFrames(profile);
  const tree = buildLabelTree(profile, ofFrame);
  const isScript = scriptNodes(tree, labels);
  const chosen = chosenThread(profile, plan.eventIndex, (stack) => isScript[tree.ofStack[stack]!] === 1);
  const timeline = timelineOf(profile, plan, chosen?.order ?? []);
  const nodes = timeline.moments.map(({ stack }) =>
    stack === IDLE ? IDLE_NODE : stack === NONE ? PROGRAM : FIRST_FUNCTION + tree.ofStack[stack]!,
  );

  const out = new ByteWriter();
  yield* writeNodes(out, profile, tree, labels, nodes, ticksOf(profile, timeline, nodes));
  const startUs = chosen === null ? 0 : Math.round(Number(profile.baseTimeNs / 1000n));
  out.text(`],"startTime":${startUs},"endTime":${startUs + Math.round(timeline.durationNs / NS_PER_US)}`);
  yield* writeSamples(out, timeline, nodes);
  out.text(`,"${VENDOR_KEY}":`);
  out.json({
    ...vendorFacts(profile, plan.event.name),
    thread: chosen === null ? null : threadFacts(profile, chosen.thread),
    otherThreads: chosen?.others ?? 0,
  });
  out.text('}\n');
  yield out.take();
}

/** Which thread a CPU profile shows, and how many others it leaves out; null: there are no samples. */
export function threadOfCpuProfile(
  profile: Profile,
  eventIndex: number,
): { comm: string; pid: number; tid: number; others: number } | null {
  const { labels, ofFrame } = labelFrames(profile);
  const tree = buildLabelTree(profile, ofFrame);
  const isScript = scriptNodes(tree, labels);
  const chosen = chosenThread(profile, eventIndex, (stack) => isScript[tree.ofStack[stack]!] === 1);
  return chosen === null ? null : { ...threadFacts(profile, chosen.thread), others: chosen.others };
}

function threadFacts({ threads, strings }: Profile, thread: number) {
  return {
    comm: strings.get(threads.comm.at(thread)),
    pid: threads.pid.at(thread),
    tid: threads.tid.at(thread),
  };
}

/** By node: 1 where a function of JavaScript is on its stack. */
function scriptNodes(tree: LabelTree, labels: readonly FrameLabel[]): Uint8Array {
  const marks = new Uint8Array(tree.length);
  for (let node = 0; node < tree.length; node++) {
    const parent = tree.parent[node]!;
    const isOwn = labels[tree.label[node]!]!.script !== null;
    marks[node] = isOwn || (parent !== NONE && marks[parent] === 1) ? 1 : 0;
  }
  return marks;
}

/** The nodes that samples are of, and their callers. */
function* writeNodes(
  out: ByteWriter,
  profile: Profile,
  tree: LabelTree,
  labels: readonly FrameLabel[],
  samples: readonly number[],
  ticks: ReadonlyMap<number, ReadonlyMap<number, number>>,
): Generator<Uint8Array<ArrayBuffer>> {
  const hits = new Int32Array(tree.length + FIRST_FUNCTION);
  for (const node of samples) hits[node]!++;
  const isUsed = Uint8Array.from({ length: tree.length }, (_, node) =>
    hits[node + FIRST_FUNCTION]! > 0 ? 1 : 0,
  );
  for (let node = tree.length - 1; node >= 0; node--) {
    const parent = tree.parent[node]!;
    if (isUsed[node] === 1 && parent !== NONE) isUsed[parent] = 1;
  }
  const children = childLists(tree.parent, (a, b) => a - b);
  const childrenOf = (node: number) =>
    [...children.list.subarray(children.start[node + 1]!, children.start[node + 2]!)]
      .filter((child) => isUsed[child] === 1)
      .map((child) => child + FIRST_FUNCTION);
  const scripts = new Map<string, string>();
  const write = (id: number, callFrame: CallFrame, below: readonly number[]) => {
    const lines = ticks.get(id);
    out.json({
      id,
      callFrame,
      hitCount: hits[id]!,
      ...(below.length === 0 ? {} : { children: below }),
      ...(lines === undefined
        ? {}
        : { positionTicks: [...lines].map(([line, count]) => ({ line, ticks: count })) }),
    });
  };

  out.text('{"nodes":[');
  write(ROOT, engineFrame('(root)'), [PROGRAM, IDLE_NODE, ...childrenOf(NONE)]);
  out.byte(COMMA);
  write(PROGRAM, engineFrame('(program)'), []);
  out.byte(COMMA);
  write(IDLE_NODE, engineFrame('(idle)'), []);
  for (let node = 0; node < tree.length; node++) {
    if (isUsed[node] === 0) continue;
    out.byte(COMMA);
    write(node + FIRST_FUNCTION, callFrameOf(profile, labels[tree.label[node]!]!, scripts), childrenOf(node));
    if (out.isFull) yield out.take();
  }
}

/** By node: samples of each line, from 1. Nothing of samples whose line nobody recorded. */
function ticksOf(
  { frames, sources, stacks }: Profile,
  { moments }: Timeline,
  nodes: readonly number[],
): Map<number, Map<number, number>> {
  const ticks = new Map<number, Map<number, number>>();
  for (const [at, { stack }] of moments.entries()) {
    const source = stack < 0 ? NONE : frames.source.at(stacks.frame.at(stack));
    if (source === NONE) continue;
    const node = nodes[at]!;
    let lines = ticks.get(node);
    if (lines === undefined) ticks.set(node, (lines = new Map()));
    const line = sources.line.at(source);
    lines.set(line, (lines.get(line) ?? 0) + 1);
  }
  return ticks;
}

function* writeSamples(
  out: ByteWriter,
  { moments }: Timeline,
  nodes: readonly number[],
): Generator<Uint8Array<ArrayBuffer>> {
  out.text(',"samples":[');
  for (const [at, node] of nodes.entries()) {
    if (at > 0) out.byte(COMMA);
    out.integer(node);
    if (out.isFull) yield out.take();
  }
  out.text('],"timeDeltas":[');
  let before = 0;
  for (const [at, { timeNs }] of moments.entries()) {
    if (at > 0) out.byte(COMMA);
    const timeUs = Math.round(timeNs / NS_PER_US);
    out.integer(timeUs - before);
    before = timeUs;
    if (out.isFull) yield out.take();
  }
  out.text(']');
}

function engineFrame(functionName: string): CallFrame {
  return { functionName, scriptId: '0', url: '', lineNumber: -1, columnNumber: -1 };
}

function callFrameOf(profile: Profile, label: FrameLabel, scripts: Map<string, string>): CallFrame {
  const { script } = label;
  if (script === null) {
    const url = label.file ?? profile.binaries[label.binary]?.path ?? '';
    return { ...engineFrame(label.text), url: url.startsWith('/') ? fileUrl(url) : '' };
  }
  const url = script.file.startsWith('/') ? fileUrl(script.file) : script.file;
  let scriptId = scripts.get(url);
  if (scriptId === undefined) scripts.set(url, (scriptId = String(scripts.size + 1)));
  return {
    // V8 leaves the name of such functions empty, and readers have their own word.
    functionName: script.name === '(anonymous)' ? '' : script.name,
    scriptId,
    url,
    lineNumber: (script.line ?? 0) - 1,
    columnNumber: (script.column ?? 0) - 1,
  };
}

function fileUrl(path: string): string {
  return `file://${path.split('/').map(encodeURIComponent).join('/')}`;
}
