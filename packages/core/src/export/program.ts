import type { Profile } from '../profile/index.ts';

/** Recorders store their own command line; what they ran follows a `--`, where there is one. */
const RECORDER = /^(?:perf|simpleperf|counterpoint)(?:[-_.\d]|$)/;

/** The command that was recorded where it can be told, else the one that recorded. */
export function recordedCommand(profile: Profile): string[] {
  const words = profile.meta.commandLine ?? [];
  const after = words.indexOf('--') + 1;
  return isRecorder(words) && after > 0 && after < words.length ? words.slice(after) : words;
}

/** The recorded program without its folder, else the command with most samples, else `Profile`. */
export function programName(profile: Profile, event: number): string {
  const words = recordedCommand(profile);
  const name = fileName(words[0] ?? '');
  return name !== '' && !isRecorder(words) ? name : busiestCommand(profile, event) || name || 'Profile';
}

function isRecorder(words: readonly string[]): boolean {
  return RECORDER.test(fileName(words[0] ?? ''));
}

function fileName(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}

function busiestCommand(profile: Profile, event: number): string {
  const { samples, strings } = profile;
  const counts = new Float64Array(strings.size);
  let busiest = 0;
  for (let sample = 0; sample < samples.length; sample++) {
    if (samples.event.at(sample) === event) counts[samples.comm.at(sample)]! += samples.count.at(sample);
  }
  for (let comm = 1; comm < counts.length; comm++) if (counts[comm]! > counts[busiest]!) busiest = comm;
  return counts[busiest]! > 0 ? strings.get(busiest) : '';
}
