/**
 * What a test file printed in the guest, as a run of it: counted as those of the
 * host, and tried again as they are.
 */
import { loadNow } from '../test-run/load.ts';
import type { Failure, FileRun } from '../test-run/one-file.ts';

export interface GuestResult {
  /** Of Node in the guest. */
  status: number;
  /** Lines of node:test's spec reporter, if the file came so far. */
  text: string;
  seconds: number;
}

export function guestRun(path: string, { status, text, seconds }: GuestResult): FileRun {
  const passed = countIn(text, 'pass');
  const failed = countIn(text, 'fail');
  const skipped = countIn(text, 'skipped');
  const run = { path, seconds, cpuSeconds: null, output: text, load: loadNow() };
  if (passed === null || failed === null || skipped === null || (status !== 0) !== failed > 0) {
    const message = `It told of no results that agree with its exit status, ${status}.`;
    return { ...run, passed: 0, failures: [{ name: path, message }], skipped: [], end: 'crashed' };
  }
  const failures = failuresIn(text);
  return {
    ...run,
    passed,
    // A suite is counted with its tests, and is told of only where it has failed itself.
    failures: failures.length > 0 || failed === 0 ? failures : [{ name: path, message: `${failed} failed` }],
    skipped: Array.from({ length: skipped }, () => ({ name: path, reason: 'skipped in the guest' })),
    end: 'ended',
  };
}

function countIn(text: string, name: string): number | null {
  const found = new RegExp(`^ℹ ${name} (\\d+)$`, 'm').exec(text);
  return found === null ? null : Number(found[1]);
}

/** Behind the counts the reporter repeats each test that failed, with what it threw. */
function failuresIn(text: string): Failure[] {
  const [, repeated] = /\n✖ failing tests:\n([\s\S]*)$/.exec(text) ?? [];
  return (repeated ?? '').split(/\ntest at [^\n]*\n/).flatMap((part) => {
    const [, name, message] = /^✖ (.*) \([\d.]+ms\)\n([\s\S]*)$/.exec(part) ?? [];
    return name === undefined ? [] : [{ name, message: message!.trim().replace(/^ {2}/gm, '') }];
  });
}
