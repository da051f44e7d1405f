import { printableJson } from '../../../base/index.ts';
import { isOffCpuEvent, type Profile } from '../../../profile/tables/index.ts';
import type { ByteWriter } from '../byte-writer.ts';
import { isIncomplete, lossTotals } from '../loss-words.ts';
import { countText, durationText, weightText } from '../numbers.ts';
import { type ExportPlan, periodOfEach } from '../options.ts';
import { recordedCommand } from '../program.ts';
import { visibleText } from './fit-text.ts';
import type { FlameTree } from './flame-tree.ts';

const COMMA = 0x2c;

/** A command line may be megabytes; the header shows its beginning. */
const MAX_COMMAND_CHARS = 2000;

/** Everything the page shows besides boxes. */
export interface FlameFacts {
  title: string;
  command: string;
  /** Event, samples, weight, duration, machine. */
  facts: string;
  /** `Nothing lost`, or what was. */
  loss: string;
  isComplete: boolean;
  /** What was left out of the picture, or empty. */
  note: string;
  unit: string;
  totalWeight: number;
  totalSamples: number;
  orientation: 'flame' | 'icicle';
  /** Weight of every sample where all weigh the same; null where samples have columns of their own. */
  weightPerSample: number | null;
  /**
   * Of two recordings: what each has in all. Weights of boxes are then shares of both,
   * samples those of the later.
   */
  compared?: { before: RecordingTotals; after: RecordingTotals };
}

/** What a recording has in all. */
export interface RecordingTotals {
  weight: number;
  samples: number;
}

/** The JSON in the file: columns, because an object per box is five times as long. */
export interface FlameData {
  facts: FlameFacts;
  binaries: string[];
  labels: {
    name: string[];
    place: string[];
    binary: number[];
    family: number[];
    tier: string[];
  };
  boxes: {
    label: number[];
    depth: number[];
    selfWeight: number[];
    hiddenWeight: number[];
    /** Absent where `weightPerSample` is known. */
    selfSamples?: number[];
    hiddenSamples?: number[];
    /** Of two recordings. */
    shade?: number[];
  };
}

export function flameFacts(
  profile: Profile,
  plan: ExportPlan,
  tree: FlameTree,
  orientation: 'flame' | 'icicle',
): FlameFacts {
  return {
    title: visibleText(plan.title),
    command: visibleText(recordedCommand(profile).map(quoteWord).join(' ').slice(0, MAX_COMMAND_CHARS)),
    facts: visibleText(factsLine(profile, plan, tree)),
    loss: lossSentence(profile),
    isComplete: !isIncomplete(profile),
    note: noteOf(tree),
    unit: plan.unit,
    totalWeight: tree.totalWeight,
    totalSamples: tree.totalSamples,
    orientation,
    weightPerSample: uniformWeight(profile, plan),
  };
}

function factsLine(profile: Profile, plan: ExportPlan, tree: FlameTree): string {
  const { meta } = profile;
  const parts = [plan.event.name, weightText(tree.totalSamples, 'samples')];
  if (plan.unit !== 'samples') {
    const isClock = plan.unit === 'nanoseconds';
    parts.push(
      isClock
        ? `${durationText(tree.totalWeight)} ${timeWords(plan.event.name)}`
        : weightText(tree.totalWeight, plan.unit),
    );
  }
  if (plan.durationNs > 0) parts.push(`recorded over ${durationText(plan.durationNs)}`);
  const system = meta.osRelease === null ? null : `Linux ${meta.osRelease}`;
  const machine = [meta.hostname, system, meta.arch].filter((part) => part !== null && part !== '');
  if (machine.length > 0) parts.push(machine.join(' '));
  return parts.join(' · ');
}

function timeWords(event: string): string {
  if (isOffCpuEvent(event)) return 'off the CPU';
  return event.includes('clock') ? 'of CPU time' : 'in all';
}

function lossSentence(profile: Profile): string {
  const parts = lossTotals(profile.loss).map((total) => total.words);
  const damaged = profile.damage.reduce((sum, damage) => sum + damage.count, 0);
  if (damaged > 0)
    parts.push(`${countText(damaged)} damaged ${damaged === 1 ? 'place' : 'places'} in the input`);
  return parts.length === 0 ? 'Nothing lost' : `Incomplete: ${parts.join('; ')}`;
}

function noteOf(tree: FlameTree): string {
  if (tree.hiddenFrames === 0) return '';
  const percent = Number((tree.limit * 100).toPrecision(2));
  const frames = tree.hiddenFrames === 1 ? 'frame' : 'frames';
  return `${countText(tree.hiddenFrames)} ${frames} below ${percent}% are counted in their callers`;
}

function uniformWeight(profile: Profile, plan: ExportPlan): number | null {
  if (plan.weight === 'samples') return 1;
  return periodOfEach(profile, plan.eventIndex) || null;
}

/** As a shell would need it, so that the words stay apart. */
function quoteWord(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replace(/'/g, "'\\''")}'`;
}

/** Safe inside XML and inside HTML: no `<`, `>` or `&`, and every other odd character as an escape. */
export function* writeFlameData(
  out: ByteWriter,
  facts: FlameFacts,
  tree: FlameTree,
): Generator<Uint8Array<ArrayBuffer>> {
  const binaries = new Map<string, number>();
  const binaryOf = tree.labels.map((label) => {
    let index = binaries.get(label.binary);
    if (index === undefined) binaries.set(label.binary, (index = binaries.size));
    return index;
  });
  out.text('{"facts":');
  safeJson(out, facts);
  out.text(',"binaries":');
  safeJson(out, [...binaries.keys()]);
  out.text(',"labels":{"name":');
  yield* strings(
    out,
    tree.labels.map((label) => label.name),
  );
  out.text(',"place":');
  yield* strings(
    out,
    tree.labels.map((label) => label.place),
  );
  out.text(',"binary":');
  yield* integers(out, binaryOf);
  out.text(',"family":');
  yield* integers(
    out,
    tree.labels.map((label) => label.family),
  );
  out.text(',"tier":');
  yield* strings(
    out,
    tree.labels.map((label) => label.tier),
  );
  out.text('},"boxes":{"label":');
  yield* integers(out, tree.label);
  out.text(',"depth":');
  yield* integers(out, tree.depth);
  out.text(',"selfWeight":');
  yield* integers(out, tree.selfWeight);
  out.text(',"hiddenWeight":');
  yield* integers(out, tree.hiddenWeight);
  if (facts.weightPerSample === null) {
    out.text(',"selfSamples":');
    yield* integers(out, tree.selfSamples);
    out.text(',"hiddenSamples":');
    yield* integers(out, tree.hiddenSamples);
  }
  if (tree.shade !== null) {
    out.text(',"shade":');
    yield* integers(out, tree.shade);
  }
  out.text('}}');
}

function safeJson(out: ByteWriter, value: unknown): void {
  out.text(escapeJson(printableJson(value)));
}

/** In JSON these characters occur only inside strings, where an escape means the same. */
export function escapeJson(json: string): string {
  return json.replace(
    /[<>&\u007f-\u009f\u2028\u2029\ufffe\uffff]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

function* strings(out: ByteWriter, values: readonly string[]): Generator<Uint8Array<ArrayBuffer>> {
  out.text('[');
  for (const [index, value] of values.entries()) {
    if (index > 0) out.byte(COMMA);
    safeJson(out, value);
    if (out.isFull) yield out.take();
  }
  out.text(']');
}

function* integers(out: ByteWriter, values: readonly number[]): Generator<Uint8Array<ArrayBuffer>> {
  out.text('[');
  for (const [index, value] of values.entries()) {
    if (index > 0) out.byte(COMMA);
    out.integer(value);
    if (out.isFull) yield out.take();
  }
  out.text(']');
}
