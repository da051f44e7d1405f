import { parseScriptName, type ScriptName } from '../../../code/jit/index.ts';
import {
  JIT_WITHOUT_NAMES,
  MODE_GUEST_KERNEL,
  MODE_HYPERVISOR,
  MODE_KERNEL,
  NONE,
  type Profile,
} from '../../../profile/tables/index.ts';

/** What kind of code a frame is: decides colours, categories and annotations. */
export type Family = 'process' | 'kernel' | 'native' | 'script' | 'jit' | 'inlined' | 'unknown';

/** A function as exports show it. Frames at different addresses of one function share a label. */
export interface FrameLabel {
  /** The function; `[libc.so.6]` or `[unknown]` if there is none. */
  text: string;
  family: Family;
  /** The parts of the text, where it is of the family `script`. */
  script: ScriptName | null;
  /** Marks of the tiers that made the function's code, in the order in which they were met: `~*`. */
  tier: string;
  /** Index into `Profile.binaries`, or `NONE` for a process. */
  binary: number;
  /**
   * Path of the source file, as debug information has it; empty: not known. Scripts have theirs in `script`.
   */
  file?: string;
}

export interface FrameLabels {
  labels: FrameLabel[];
  /** Label of each row of `Profile.frames`. */
  ofFrame: Int32Array;
}

/** perf's mark for a frame that exists only in debug information. */
export const INLINED_SUFFIX = ' (inlined)';

export function isInlinedName(text: string): boolean {
  return text.endsWith(INLINED_SUFFIX);
}

/** The name of a function, without the mark where it is inlined. */
export function plainName(text: string): string {
  return isInlinedName(text) ? text.slice(0, -INLINED_SUFFIX.length) : text;
}

/** One label per function and mode, and one for all addresses without a symbol in a binary. */
export function labelFrames(profile: Profile): FrameLabels {
  const { frames } = profile;
  const labels: FrameLabel[] = [];
  const known = new Map<number, number>();
  const ofFrame = new Int32Array(frames.length);
  for (let frame = 0; frame < frames.length; frame++) {
    const symbol = frames.symbol.at(frame);
    const mode = frames.mode.at(frame) & 0xff;
    const key = (symbol === NONE ? -1 - frames.binary.at(frame) : symbol) * 256 + mode;
    let label = known.get(key);
    if (label === undefined) {
      label = labels.push(makeLabel(profile, frame)) - 1;
      known.set(key, label);
    }
    const code = frames.jitCode.at(frame);
    if (code !== NONE) addTier(labels[label]!, profile.strings.get(profile.jitCode.tier.at(code)));
    const source = profile.frames.source.at(frame);
    const shown = labels[label]!;
    if (source !== NONE && shown.script === null)
      shown.file ??= profile.strings.get(profile.sources.file.at(source));
    ofFrame[frame] = label;
  }
  return { labels, ofFrame };
}

/**
 * `Profile.symbols` names a function's own binary; a frame without symbol knows
 * only the one it was mapped from.
 */
function makeLabel(profile: Profile, frame: number): FrameLabel {
  const symbol = profile.frames.symbol.at(frame);
  const mode = profile.frames.mode.at(frame);
  const binary = symbol === NONE ? profile.frames.binary.at(frame) : profile.symbols.binary.at(symbol);
  const facts = profile.binaries[binary];
  const isKernel =
    mode === MODE_KERNEL ||
    mode === MODE_GUEST_KERNEL ||
    mode === MODE_HYPERVISOR ||
    isKernelKind(facts?.kind);
  if (symbol === NONE && facts?.kind === 'jit')
    return { text: JIT_WITHOUT_NAMES, family: 'jit', script: null, tier: '', binary };
  if (symbol === NONE) {
    const name = facts?.name ?? '';
    return {
      text: name.startsWith('[') ? name : `[${name === '' ? 'unknown' : name}]`,
      family: isKernel ? 'kernel' : 'unknown',
      script: null,
      tier: '',
      binary,
    };
  }
  const text = profile.strings.get(profile.symbols.name.at(symbol));
  const isNative = isKernel || facts?.kind === 'user' || facts?.kind === 'vdso';
  const script = isNative || text.endsWith(INLINED_SUFFIX) ? null : parseScriptName(text);
  const family = isKernel ? 'kernel' : script !== null ? 'script' : familyOf(text, facts?.kind);
  return { text, family, script, tier: script?.tier ?? '', binary };
}

function addTier(label: FrameLabel, tier: string): void {
  if (label.tier.includes(tier)) return;
  // Marks are one character, words are not.
  label.tier += label.tier === '' || tier.length === 1 ? tier : ` ${tier}`;
}

function isKernelKind(kind: string | undefined): boolean {
  return kind === 'kernel' || kind === 'module';
}

function familyOf(text: string, kind: string | undefined): Family {
  if (text.endsWith(INLINED_SUFFIX)) return 'inlined';
  return kind === 'jit' ? 'jit' : 'native';
}
