import type { Profile } from '../../profile/tables/index.ts';

/** Recorders store their own command line; what they ran follows a `--`, where there is one. */
const RECORDER = /^(?:perf|simpleperf|counterpoint)(?:[-_.\d]|$)/;

type Watched = 'tasks' | 'CPUs' | 'all CPUs';

/** Options that name what is watched; a command beside them (`-p 123 -- sleep 5`) only says for how long. */
const TARGET_OPTIONS: ReadonlyMap<string, Watched> = new Map([
  ['pid', 'tasks'],
  ['tid', 'tasks'],
  ['uid', 'tasks'],
  ['cgroup', 'tasks'],
  ['app', 'tasks'],
  ['cpu', 'CPUs'],
  ['all-cpus', 'all CPUs'],
]);
const TARGET_LETTERS: ReadonlyMap<string, Watched> = new Map([
  ['p', 'tasks'],
  ['t', 'tasks'],
  ['u', 'tasks'],
  ['G', 'tasks'],
  ['C', 'CPUs'],
  ['a', 'all CPUs'],
]);
/** Letters of recorders' options whose value follows, in the same word or the next. */
const VALUE_LETTERS = 'cDeFjkmMoIr';
const VALUE_FOLLOWS = new RegExp(`^-[^-]*[${VALUE_LETTERS}ptuCG]$|^--[^=]+$`);

/** The command that was recorded where it can be told, else the one that recorded. */
export function recordedCommand(profile: Profile): string[] {
  const words = profile.meta.commandLine ?? [];
  const after = words.indexOf('--') + 1;
  const hasCommand = isRecorder(words) && after > 0 && after < words.length;
  return hasCommand && watchedBy(words.slice(1, after - 1)) === null ? words.slice(after) : words;
}

/** What options of a recorder say to watch: `-p 123`, `-ag`, `--pid=123`, but not `-o -a`; null: nothing. */
function watchedBy(words: readonly string[]): Watched | null {
  for (let at = 0; at < words.length; at++) {
    const word = words[at]!;
    const option = TARGET_OPTIONS.get(/^--([^=]+)/.exec(word)?.[1] ?? '');
    if (option !== undefined) return option;
    if (!/^-[^-]/.test(word)) continue;
    for (let letter = 1; letter < word.length; letter++) {
      const target = TARGET_LETTERS.get(word[letter]!);
      if (target !== undefined) return target;
      if (!VALUE_LETTERS.includes(word[letter]!)) continue;
      if (letter === word.length - 1) at++;
      break;
    }
  }
  return null;
}

/**
 * The recorded program without its folder, or the machine where CPUs were watched; else the command with most
 * samples, else `Profile`.
 */
export function programName(profile: Profile, event: number): string {
  const words = recordedCommand(profile);
  const name = fileName(words[0] ?? '');
  if (name !== '' && !isRecorder(words)) return name;
  const watched = watchedBy(optionsOf(words));
  const { hostname } = profile.meta;
  if (watched !== null && watched !== 'tasks')
    return hostname === null ? watched : `${watched} of ${hostname}`;
  return busiestCommand(profile, event) || name || 'Profile';
}

/** Those of the recorder, without the command behind them: behind `--`, or the first word of its own. */
function optionsOf(words: readonly string[]): readonly string[] {
  const marked = words.indexOf('--');
  const isCommand = (word: string, at: number) =>
    at > 1 && !word.startsWith('-') && !VALUE_FOLLOWS.test(words[at - 1]!);
  const end = marked < 0 ? words.findIndex(isCommand) : marked;
  return words.slice(1, end < 0 ? words.length : end);
}

function isRecorder(words: readonly string[]): boolean {
  return RECORDER.test(fileName(words[0] ?? ''));
}

function fileName(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}

/** The name of the threads with most samples; empty where there are none. */
export function busiestCommand(profile: Profile, event: number): string {
  const { samples, strings } = profile;
  const counts = new Float64Array(strings.size);
  let busiest = 0;
  for (let sample = 0; sample < samples.length; sample++) {
    if (samples.event.at(sample) === event) counts[samples.comm.at(sample)]! += samples.count.at(sample);
  }
  for (let comm = 1; comm < counts.length; comm++) if (counts[comm]! > counts[busiest]!) busiest = comm;
  return counts[busiest]! > 0 ? strings.get(busiest) : '';
}
