import { encodeUtf8 } from '../../base/index.ts';
import { checkProfile, type Profile } from '../../profile/tables/index.ts';
import { ByteWriter } from './byte-writer.ts';
import { lossTotals } from './loss-words.ts';
import { type ExportOptions, periodOfEach, planExport } from './options.ts';
import { buildCommTree, childLists } from './stacks/comm-tree.ts';
import { type FrameLabel, INLINED_SUFFIX, labelFrames } from './stacks/frame-labels.ts';
import { buildLabelTree } from './stacks/label-tree.ts';

/** Names repeat on every line below them, so a hostile one of a megabyte would make terabytes. */
const MAX_NAME_CHARS = 4096;

const SPACE = 0x20;
const NEWLINE = 0x0a;
const SEMICOLON = 0x3b;

/**
 * Folded stacks, the form that FlameGraph's `stackcollapse-perf.pl` makes and every flame graph tool reads:
 * one line per distinct stack, command first, callers before callees, sorted, the count last: of samples, or
 * of events where samples do not stand for as many each.
 *
 *   node;main;fib 12
 *
 * Its readers (flamegraph.pl, inferno, speedscope) take a line as `^(.*)\s+(\d+(\.\d*)?)$` and skip what does
 * not match, the first two with a warning. So losses follow the stacks as lines of the form `# loss: 12
 * samples (lost-samples, exact)`: they never end in a number. A file without such lines is complete.
 */
export function* writeFolded(
  profile: Profile,
  options: ExportOptions = {},
): Generator<Uint8Array<ArrayBuffer>> {
  checkProfile('writeFolded()', profile);
  const isEven = periodOfEach(profile, options.event ?? 0) !== null;
  const plan = planExport(profile, options, isEven ? 'samples' : 'period');
  const { labels, ofFrame } = labelFrames(profile);
  // Functions of one name in two binaries are one frame here.
  const texts: string[] = [];
  const textOf = internTexts(
    labels.map((label) => foldedName(label, options.annotate === true)),
    texts,
  );
  const tree = buildCommTree(
    profile,
    plan,
    buildLabelTree(
      profile,
      ofFrame.map((label) => textOf[label]!),
    ),
  );
  const names = texts.map((text) => encodeUtf8(text));
  const comms = new Map<number, Uint8Array>();
  const nameOf = (row: number): Uint8Array => {
    const label = tree.label[row]!;
    if (label >= 0) return names[label]!;
    let comm = comms.get(label);
    if (comm === undefined) {
      comm = encodeUtf8(cleanName(profile.strings.get(-1 - label)).replace(/ /g, '_') || '[unknown]');
      comms.set(label, comm);
    }
    return comm;
  };
  const ranks = rankTexts(texts);
  const children = childLists(tree.parent, (a, b) =>
    tree.label[a]! < 0
      ? compareBytes(nameOf(a), nameOf(b)) || a - b
      : ranks[tree.label[a]!]! - ranks[tree.label[b]!]!,
  );

  const out = new ByteWriter();
  const path = new ByteWriter();
  // Depth first; an entry is a row and the path's length before its name was added.
  const pending: number[] = [];
  const lengths: number[] = [];
  const push = (row: number, length: number) => {
    for (let at = children.start[row + 2]! - 1; at >= children.start[row + 1]!; at--) {
      pending.push(children.list[at]!);
      lengths.push(length);
    }
  };
  push(-1, 0);
  while (pending.length > 0) {
    const row = pending.pop()!;
    path.length = lengths.pop()!;
    if (path.length > 0) path.byte(SEMICOLON);
    path.raw(nameOf(row));
    const count = tree.selfWeight[row]!;
    if (count > 0) {
      out.raw(path.view());
      out.byte(SPACE);
      out.integer(count);
      out.byte(NEWLINE);
      if (out.isFull) yield out.take();
    }
    push(row, path.length);
  }
  for (const total of lossTotals(profile.loss)) {
    out.text(`# loss: ${total.count} ${total.unit} (${total.kind}, ${total.exact ? 'exact' : 'at least'})\n`);
  }
  for (const damage of profile.damage) {
    out.text(
      `# damage: ${damage.count === 1 ? 'once' : `${damage.count} times`} (${cleanName(damage.code)}, first at offset ${damage.firstOffset})\n`,
    );
  }
  if (out.length > 0) yield out.take();
}

function foldedName(label: FrameLabel, annotate: boolean): string {
  const isInlined = label.family === 'inlined';
  const name = cleanName(isInlined ? label.text.slice(0, -INLINED_SUFFIX.length) : label.text);
  if (!annotate) return name;
  if (label.family === 'kernel') return `${name}_[k]`;
  if (label.family === 'script' || label.family === 'jit') return `${name}_[j]`;
  return isInlined ? `${name}_[i]` : name;
}

/**
 * No separator, no line break, and no number as the last word: `f 2 7` would be read as
 * the difference of two profiles.
 */
function cleanName(name: string): string {
  const short = name.length > MAX_NAME_CHARS ? `${name.slice(0, MAX_NAME_CHARS)}…` : name;
  return short
    .replace(/;/g, ':')
    .replace(/[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]+/g, ' ')
    .replace(/\s+(?=\d+(?:\.\d*)?\s*$)/, '_')
    .trim();
}

/** Adds each new text to `texts`; returns the place of each. */
function internTexts(all: string[], texts: string[]): Int32Array {
  const places = new Map<string, number>();
  return Int32Array.from(all, (text) => {
    let place = places.get(text);
    if (place === undefined) places.set(text, (place = texts.push(text) - 1));
    return place;
  });
}

/** Position of each text in sorted order, so that sorting rows compares numbers. */
function rankTexts(texts: string[]): Int32Array {
  const order = texts
    .map((_, index) => index)
    .sort((a, b) => (texts[a]! < texts[b]! ? -1 : texts[a]! > texts[b]! ? 1 : 0));
  const ranks = new Int32Array(texts.length);
  for (const [rank, index] of order.entries()) ranks[index] = rank;
  return ranks;
}

function compareBytes(a: Uint8Array, b: Uint8Array): number {
  const length = Math.min(a.length, b.length);
  for (let at = 0; at < length; at++) {
    if (a[at] !== b[at]) return a[at]! - b[at]!;
  }
  return a.length - b.length;
}
