import { CounterpointError, checkOptionNames, type OptionNames } from '../../base/index.ts';
import { checkProfile, type Profile, type ProfileEvent } from '../../profile/tables/index.ts';
import { programName } from './program.ts';

/** What a number in an export counts: samples, or the events they stand for (nanoseconds for clocks). */
export type ExportWeight = 'samples' | 'period';

/** Options of the exports. Each format takes those that it can show. */
export interface ExportOptions {
  /** Shown at the top; by default the recorded program's name. */
  title?: string | undefined;
  /** Index into `Profile.events`; absent or null is the first. One export shows one event. */
  event?: number | null | undefined;
  /**
   * Default `period`, and then shares are those of a report. In folded stacks `samples`, as every tool
   * that makes them does, where each stands for as much; else `period`, too: a sample of a sampling
   * format may stand for thousands.
   */
  weight?: ExportWeight | undefined;
  /**
   * `svg`: frames narrower than this share of all are folded into their callers; by default as
   * few as the file's size allows.
   */
  minimumPercent?: number | undefined;
  /** `svg`: where the roots are at first, below (`flame`, the default) or above (`icicle`). */
  orientation?: 'flame' | 'icicle' | undefined;
  /**
   * `svg`: an earlier profile, to compare with. Boxes are as wide as the mean of both shares; what grew is
   * red, what shrank is blue, and what chance alone explains is grey.
   */
  before?: Profile | undefined;
  /** `folded`: mark kernel frames with `_[k]`, JIT-compiled ones with `_[j]`, inlined ones with `_[i]`. */
  annotate?: boolean | undefined;
  /**
   * Time from the first to the last sample in nanoseconds, where the rows of an
   * aggregated profile have no times.
   */
  durationNs?: number | undefined;
  /**
   * `pprof`: gzip, which core does not have. Without it the bytes come out
   * uncompressed, which pprof reads too.
   */
  compress?: ((bytes: Uint8Array<ArrayBuffer>) => Promise<Uint8Array>) | undefined;
}

const OPTIONS: OptionNames<ExportOptions> = {
  title: true,
  event: true,
  weight: true,
  minimumPercent: true,
  orientation: true,
  annotate: true,
  durationNs: true,
  compress: true,
  before: true,
};

/** A piece of an exported file, text or bytes. */
export type ExportChunk = string | Uint8Array<ArrayBufferLike>;

/** Options with defaults filled in. */
export interface ExportPlan {
  title: string;
  eventIndex: number;
  event: ProfileEvent;
  weight: ExportWeight;
  /** What the weights count: `nanoseconds`, `samples`, or the event's own unit. */
  unit: string;
  /** From the first to the last sample; 0 where that is not known. */
  durationNs: number;
}

const NO_EVENT: ProfileEvent = { name: 'samples', unit: 'samples', samples: 0, sumPeriod: 0n, lost: 0n };

/** Throws where the event does not exist; a profile without any event exports as an empty one. */
export function planExport(
  profile: Profile,
  options: ExportOptions,
  defaultWeight: ExportWeight,
): ExportPlan {
  checkProfile('an export', profile);
  checkOptionNames('an export', options, OPTIONS);
  const eventIndex = options.event ?? 0;
  const event = profile.events[eventIndex] ?? (profile.events.length === 0 ? NO_EVENT : undefined);
  if (event === undefined) {
    throw new CounterpointError(
      'ERR_NO_SUCH_EVENT',
      `there is no event ${eventIndex}: the profile has ${profile.events.length}`,
      profile.events.map((known, index) => `  ${index}: ${known.name}`).join('\n'),
    );
  }
  const weight = options.weight ?? defaultWeight;
  return {
    title: options.title ?? programName(profile, eventIndex),
    eventIndex,
    event,
    weight,
    unit: weight === 'samples' ? 'samples' : event.unit,
    durationNs: options.durationNs ?? timeSpanNs(profile, eventIndex),
  };
}

/** What a sample of an event stands for, where that is the same for each; else null. 0 where none says. */
export function periodOfEach({ samples }: Profile, eventIndex: number): number | null {
  let least = Number.POSITIVE_INFINITY;
  let most = 0;
  for (let sample = 0; sample < samples.length; sample++) {
    if (samples.event.at(sample) !== eventIndex) continue;
    const own = samples.weight.at(sample) / samples.count.at(sample);
    if (own < least) least = own;
    if (own > most) most = own;
  }
  // Sums of merged rows are rounded.
  return most - least > most * 1e-9 ? null : most;
}

function timeSpanNs(profile: Profile, event: number): number {
  const { samples } = profile;
  let first = Number.POSITIVE_INFINITY;
  let last = Number.NEGATIVE_INFINITY;
  for (let sample = 0; sample < samples.length; sample++) {
    if (samples.event.at(sample) !== event) continue;
    const time = samples.timeNs.at(sample);
    if (time < first) first = time;
    if (time > last) last = time;
  }
  return last > first ? last - first : 0;
}
