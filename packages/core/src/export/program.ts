import type { Profile } from '../profile/index.ts';

/** Recorders store their own command line; what they ran follows a `--`, where there is one. */
const RECORDER = /^(?:perf|simpleperf|counterpoint)(?:[-_.\d]|$)/;

/** Options that name what is watched; a command beside them (`-p 123 -- sleep 5`) only says for how long. */
const TARGET_OPTION = /^--(?:pid|tid|uid|all-cpus|cpu|cgroup|app)(?:=|$)/;
const TARGET_LETTERS = 'ptuaCG';
/** Letters of recorders' options whose value follows, in the same word or the next. */
const VALUE_LETTERS = 'cDeFjkmMoIr';

/** The command that was recorded where it can be told, else the one that recorded. */
export function recordedCommand(profile: Profile): string[] {
  const words = profile.meta.commandLine ?? [];
  const after = words.indexOf('--') + 1;
  const hasCommand = isRecorder(words) && after > 0 && after < words.length;
  return hasCommand && !namesTarget(words.slice(1, after - 1)) ? words.slice(after) : words;
}

/** Whether options of a recorder say what to watch: `-p 123`, `-ag`, `--pid=123`, but not `-o -a`. */
function namesTarget(words: readonly string[]): boolean {
  for (let at = 0; at < words.length; at++) {
    const word = words[at]!;
    if (TARGET_OPTION.test(word)) return true;
    if (!/^-[^-]/.test(word)) continue;
    for (let letter = 1; letter < word.length; letter++) {
      if (TARGET_LETTERS.includes(word[letter]!)) return true;
      if (!VALUE_LETTERS.includes(word[letter]!)) continue;
      if (letter === word.length - 1) at++;
      break;
    }
  }
  return false;
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
