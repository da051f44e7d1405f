import { NONE, type Profile } from '../../profile/tables/index.ts';
import { ByteWriter } from './byte-writer.ts';
import { lossLine, VENDOR_KEY, vendorFacts } from './loss-words.ts';
import { type ExportOptions, type ExportPlan, planExport } from './options.ts';
import { childLists } from './stacks/comm-tree.ts';
import { type FrameLabel, labelFrames } from './stacks/frame-labels.ts';
import { buildLabelTree, type LabelTree } from './stacks/label-tree.ts';
import { groupSamples } from './stacks/sample-groups.ts';

const COMMA = 0x2c;
const OPEN = 0x5b;
const CLOSE = 0x5d;

/**
 * Stacks with their weights, in the order in which they are drawn. Node `NONE` is a sample without a stack.
 */
interface Run {
  name: string;
  node: Int32Array;
  weight: Float64Array;
  total: number;
}

/**
 * speedscope's own JSON (`https://www.speedscope.app/file-format-schema.json`). The first profile is all
 * threads, each distinct stack once; then a profile per thread, heaviest first, where equal stacks that
 * follow each other are one entry. Times between samples are not shown: the x axis is the sum of weights, as
 * in every sampled speedscope profile.
 */
export function* writeSpeedscope(
  profile: Profile,
  options: ExportOptions = {},
): Generator<Uint8Array<ArrayBuffer>> {
  const plan = planExport(profile, options, 'period');
  const { labels, ofFrame } = labelFrames(profile);
  const tree = buildLabelTree(profile, ofFrame);
  const out = new ByteWriter();

  out.text(
    '{"$schema":"https://www.speedscope.app/file-format-schema.json","exporter":"counterpoint","name":',
  );
  out.jsonString(`${plan.title} · ${plan.event.name} · ${lossLine(profile)}`);
  out.text(`,"activeProfileIndex":0,"${VENDOR_KEY}":`);
  out.json(vendorFacts(profile, plan.event.name));
  out.text(',"shared":{"frames":[');
  for (const [index, label] of labels.entries()) {
    if (index > 0) out.byte(COMMA);
    out.json(frameOf(profile, label));
    if (out.isFull) yield out.take();
  }
  out.text(']},"profiles":[');
  let isFirst = true;
  for (const run of runsOf(profile, plan, tree)) {
    if (!isFirst) out.byte(COMMA);
    isFirst = false;
    yield* writeRun(out, run, tree, plan);
  }
  out.text(']}\n');
  yield out.take();
}

function frameOf(
  profile: Profile,
  label: FrameLabel,
): { name: string; file?: string; line?: number; col?: number } {
  const { script } = label;
  if (script !== null && script.file !== '') {
    return {
      name: script.name,
      file: script.file,
      ...(script.line === null ? {} : { line: script.line }),
      ...(script.column === null ? {} : { col: script.column }),
    };
  }
  const file = label.file ?? profile.binaries[label.binary]?.path ?? '';
  return file === '' ? { name: label.text } : { name: label.text, file };
}

function* writeRun(
  out: ByteWriter,
  run: Run,
  tree: LabelTree,
  plan: ExportPlan,
): Generator<Uint8Array<ArrayBuffer>> {
  out.text('{"type":"sampled","name":');
  out.jsonString(run.name);
  out.text(`,"unit":"${plan.unit === 'nanoseconds' ? 'nanoseconds' : 'none'}","startValue":0,"endValue":`);
  out.integer(run.total);
  out.text(',"samples":[');
  const path: number[] = [];
  for (let at = 0; at < run.node.length; at++) {
    if (at > 0) out.byte(COMMA);
    out.byte(OPEN);
    for (let node = run.node[at]!; node !== NONE; node = tree.parent[node]!) path.push(tree.label[node]!);
    let isFirst = true;
    while (path.length > 0) {
      if (!isFirst) out.byte(COMMA);
      isFirst = false;
      out.integer(path.pop()!);
    }
    out.byte(CLOSE);
    if (out.isFull) yield out.take();
  }
  out.text('],"weights":[');
  for (let at = 0; at < run.weight.length; at++) {
    if (at > 0) out.byte(COMMA);
    out.integer(run.weight[at]!);
    if (out.isFull) yield out.take();
  }
  out.text(']}');
}

function* runsOf(profile: Profile, plan: ExportPlan, tree: LabelTree): Generator<Run> {
  const { samples, threads } = profile;
  const groups = groupSamples(profile, plan.eventIndex, (sample) => samples.thread.at(sample));
  const nodeOf = (sample: number) => {
    const stack = samples.stack.at(sample);
    return stack === NONE ? NONE : tree.ofStack[stack]!;
  };
  const weightOf = (sample: number) =>
    plan.weight === 'samples' ? samples.count.at(sample) : samples.weight.at(sample);

  // Place 0 is for samples without a stack.
  const totals = new Float64Array(tree.length + 1);
  for (const sample of groups.order) totals[nodeOf(sample) + 1]! += weightOf(sample);
  yield mergedRun(plan, tree, totals);

  const runs = groups.keys.map((thread, group): Run => {
    const order = groups.order.subarray(groups.start[group]!, groups.start[group + 1]!);
    const node = new Int32Array(order.length);
    const weight = new Float64Array(order.length);
    let length = 0;
    let total = 0;
    for (const sample of order) {
      const own = nodeOf(sample);
      if (length === 0 || node[length - 1] !== own) node[length++] = own;
      weight[length - 1]! += weightOf(sample);
      total += weightOf(sample);
    }
    const comm = profile.strings.get(threads.comm.at(thread));
    const name = `${comm} (pid ${threads.pid.at(thread)}, tid ${threads.tid.at(thread)})`;
    return { name, node: node.slice(0, length), weight: weight.slice(0, length), total };
  });
  runs.sort((a, b) => b.total - a.total);
  yield* runs;
}

/** Every distinct stack once, depth first, so that neighbours share their callers. */
function mergedRun(plan: ExportPlan, tree: LabelTree, totals: Float64Array): Run {
  const node: number[] = [];
  const weight: number[] = [];
  let total = 0;
  const children = childLists(tree.parent, (a, b) => a - b);
  const pending = [NONE];
  while (pending.length > 0) {
    const next = pending.pop()!;
    const own = totals[next + 1]!;
    if (own > 0) {
      node.push(next);
      weight.push(own);
      total += own;
    }
    for (let at = children.start[next + 2]! - 1; at >= children.start[next + 1]!; at--) {
      pending.push(children.list[at]!);
    }
  }
  return {
    name: `all threads · ${plan.event.name}`,
    node: Int32Array.from(node),
    weight: Float64Array.from(weight),
    total,
  };
}
