import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PERF_TYPE_BREAKPOINT, PERF_TYPE_TRACEPOINT } from '@counterpoint/core/abi';
import { FakeSys } from '../../kernel/sys/fake-sys.ts';
import type { CountingTarget } from '../requests/types.ts';
import { openCounting } from './index.ts';

const THREAD: CountingTarget = { kind: 'threads', tids: [process.pid] };

/**
 * The reason beside the last event, which the kernel refuses with EINVAL, whatever is left
 * out of it, or in company only.
 */
function reasonFor(events: string, type: number, where: 'everywhere' | 'in groups' = 'everywhere'): string {
  const sys = new FakeSys();
  sys.refuseOpen = ({ attr, group }) =>
    attr.type === type && (where === 'everywhere' || group !== -1) ? 'EINVAL' : null;
  using session = openCounting({ target: THREAD, events, sys, paranoid: -1 });
  const event = session.read().sets[0]!.events.at(-1)!;
  assert.equal(event.status, 'not-supported');
  return event.reason!;
}

test('what no single field explains is named by its kind, and not blamed on single tasks', () => {
  const tracepoint = (events: string) => reasonFor(events, PERF_TYPE_TRACEPOINT);
  const breakpoint = (events: string) => reasonFor(events, PERF_TYPE_BREAKPOINT);
  assert.match(tracepoint('tracepoint/config=99999999/'), /config=0x5f5e0ff: there is no tracepoint/);
  assert.match(breakpoint('breakpoint/config=1/'), /bp_type=0: a breakpoint is for/);
  assert.match(breakpoint('mem:0x40402c/4:wx'), /bp_type=6: .*execution together/);
  assert.match(breakpoint('mem:0x404020/4:x'), /bp_len=4/);
  assert.match(breakpoint('mem:0x404020/4:w'), /does not say which field/);
});

test('the address of a breakpoint has to fit its length', () => {
  const sys = new FakeSys();
  sys.refuseOpen = ({ attr }) => (attr.config1 % 8n === 0n ? null : 'EINVAL');
  using session = openCounting({ target: THREAD, events: 'mem:0x1001/8:rw', sys, paranoid: -1 });
  const { status, reason } = session.read().sets[0]!.events[0]!;
  assert.equal(status, 'not-supported');
  assert.match(
    reason!,
    /^the kernel refuses bp_addr=0x1001: the address of a breakpoint must be a multiple of its length/,
  );
});

test('in a group an event that is refused alone has its own reason; only another one has the group to blame', () => {
  const breakpoint = (where: 'everywhere' | 'in groups') =>
    reasonFor('{cs,faults,mem:0x404020/4:x}', PERF_TYPE_BREAKPOINT, where);
  assert.match(breakpoint('everywhere'), /bp_len=4/);
  assert.match(breakpoint('in groups'), /group of 3 events needs more counters/);
  assert.match(reasonFor('{cs,tracepoint/config=99999999/}', PERF_TYPE_TRACEPOINT), /no tracepoint/);
});

test('an event that is refused in company and absent alone is absent', () => {
  const sys = new FakeSys();
  sys.refuseOpen = ({ attr, group }) =>
    attr.type !== PERF_TYPE_BREAKPOINT ? null : group === -1 ? 'ENOENT' : 'EINVAL';
  using session = openCounting({ target: THREAD, events: '{cs,mem:0x404020/4:w}', sys, paranoid: -1 });
  assert.match(session.read().sets[0]!.events[1]!.reason!, /has no such event \(ENOENT\)/);
});

test('a user who may not, on a PMU that cannot leave the kernel out, reads of rights', () => {
  const sys = new FakeSys();
  const refuse = (everywhere: boolean) => {
    sys.refuseOpen = ({ attr }) =>
      attr.config === 3n && !everywhere ? null : attr.flags.excludeKernel === 0 ? 'EACCES' : 'EINVAL';
  };
  refuse(false);
  using session = openCounting({ target: THREAD, events: 'faults,cs', sys, paranoid: 2 });
  const [faults, cs] = session.read().sets[0]!.events;
  assert.match(faults!.reason!, /may count only user space .*exclude_kernel=1/);
  assert.notEqual(cs!.status, 'not-supported');
  // On whole CPUs nothing of this user's counts.
  refuse(true);
  const target: CountingTarget = { kind: 'cpus', cpus: [0] };
  assert.throws(() => openCounting({ target, events: 'cs', sys, paranoid: 2 }), {
    code: 'ERR_PERF_PERMISSION',
    message: /whole CPUs/,
  });
});

test('a breakpoint in the kernel is not tried in user space alone: the first answer is the reason', () => {
  const sys = new FakeSys();
  sys.refuseOpen = ({ attr }) => (attr.flags.excludeKernel === 0 ? 'EACCES' : 'EINVAL');
  const events = 'mem:0xffffffff81000000:w';
  assert.throws(() => openCounting({ target: THREAD, events, sys, paranoid: 2 }), {
    code: 'ERR_PERF_PERMISSION',
  });
});
