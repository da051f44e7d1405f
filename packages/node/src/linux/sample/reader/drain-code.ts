import { MMAP_PAGE_DATA_HEAD, MMAP_PAGE_DATA_TAIL } from '@counterpoint/core/abi';
import {
  type Field,
  type MachineCode,
  type PortableAssembler,
  portableAssembler,
} from '../../kernel/machine-code/index.ts';
import {
  BLOCK,
  type BlockWord,
  COMMAND_ABANDON,
  EVENTS_OFFSET,
  IOVECS_OFFSET,
  MOST_EVENTS,
  RING,
  RING_ROW_BYTES,
  RINGS_OFFSET,
  STATE_ENDED,
  STATE_FAILED,
} from './drain-block.ts';

interface Kernel {
  closeFd: number;
  epollControl: number;
  epollWait: number;
  gettid: number;
  munmap: number;
  prctl: number;
  pwrite: number;
  pwritev: number;
  schedGetattr: number;
  schedSetattr: number;
  write: number;
  /** struct epoll_event is packed on x86-64 alone. */
  eventBytes: number;
  eventData: number;
}

/** asm/unistd_64.h; asm-generic/unistd.h for arm64. */
const KERNELS: Readonly<Record<string, Kernel>> = {
  x64: {
    closeFd: 3,
    epollControl: 233,
    epollWait: 281,
    gettid: 186,
    munmap: 11,
    prctl: 157,
    pwrite: 18,
    pwritev: 296,
    schedGetattr: 315,
    schedSetattr: 314,
    write: 1,
    eventBytes: 12,
    eventData: 4,
  },
  arm64: {
    closeFd: 57,
    epollControl: 21,
    epollWait: 22,
    gettid: 178,
    munmap: 215,
    prctl: 167,
    pwrite: 68,
    pwritev: 70,
    schedGetattr: 275,
    schedSetattr: 274,
    write: 64,
    eventBytes: 16,
    eventData: 8,
  },
};

const EPOLL_CTL_DEL = 2;
/** EPOLLERR and EPOLLHUP. */
const HUNG_UP = 0x18;
const PR_SET_NAME = 15;
const EINTR = 4;
const ENOSPC = 28;
/** struct sched_attr of version 0 (sched_setattr(2)). */
const SCHED_ATTR_BYTES = 48;
const SCHED_ATTR_POLICY = 4;
const SCHED_NORMAL = 0;
const MARK_BYTES = 8;
const IOVEC_BYTES = 16;
/**
 * Of a thread that is told to finish: one takes all there is, the other what was written
 * between its first and last ring.
 */
const LAST_PASSES = 2;

const block = (name: BlockWord): Field => ({ base: 'block', offset: BLOCK[name] });
const ring = (name: keyof typeof RING): Field => ({ base: 'ring', offset: RING[name] });
const place = (offset: number): Field => ({ base: 'place', offset });
const MARK_IOVEC = 0;
const FIRST_IOVEC = IOVEC_BYTES;
const SECOND_IOVEC = 2 * IOVEC_BYTES;
/** The second word of an iovec. */
const LENGTH = 8;

/**
 * The thread that empties rings into a file, as the kernel and the file see it;
 * nothing of JavaScript takes part:
 *
 *   wait ──> pass: each ring in turn:  head ─> pwritev(mark?, to the ring's end, from its beginning) ─> tail
 *     ^        │
 *     └────────┘  at once where a ring was pressed, else until a watermark, a command or the timeout
 *
 * The mark of a finished round is written before the first records of the next one. Every ring is emptied
 * in every pass up to a head that is not older than the pass, so that what the next one finds is younger
 * than the pass before this one: the rule by which readers order rounds. The end that is told to JavaScript
 * is always one of whole records.
 *
 * `null` for an architecture that has no assembler.
 */
export function drainCode(arch: string): MachineCode | null {
  const asm = portableAssembler(arch);
  const kernel = KERNELS[arch];
  return asm === null || kernel === undefined ? null : drainProgram(asm, kernel);
}

function drainProgram(asm: PortableAssembler, kernel: Kernel): MachineCode {
  const setWord = (name: BlockWord, value: number): void => {
    asm.set('value', value);
    asm.store(block(name), 'value');
  };
  const jumpIfZero = (name: BlockWord, label: string): void => {
    asm.load('value', block(name));
    asm.compareNumber('value', 0);
    asm.jumpIf('equal', label);
  };
  const addToWord = (name: BlockWord, value: number): void => {
    asm.load('value', block(name));
    asm.addNumber('value', value);
    asm.store(block(name), 'value');
  };
  const wakeJavaScript = (): void =>
    asm.systemCall(kernel.write, block('notice'), { addressOf: block('one') }, 8);

  asm.begin();
  asm.systemCall(kernel.gettid);
  asm.store(block('tid'), 'result');
  asm.systemCall(kernel.prctl, PR_SET_NAME, { addressOf: block('name') });
  scheduling();
  waiting();
  events();
  commands();
  pass();
  afterPass();
  endings();
  return asm.finish();

  /**
   * The slice, then the nice value with it; what this kernel does not know, or this user may not have, is
   * left as it was. So is a thread of another policy (chrt).
   */
  function scheduling(): void {
    jumpIfZero('sliceNs', 'wait');
    const thisThread = 0;
    const attributes = { addressOf: block('scheduling') };
    asm.systemCall(kernel.schedGetattr, thisThread, attributes, SCHED_ATTR_BYTES, 0);
    asm.compareNumber('result', 0);
    asm.jumpIf('notEqual', 'wait');
    asm.load32('value', { base: 'block', offset: BLOCK.scheduling + SCHED_ATTR_POLICY });
    asm.compareNumber('value', SCHED_NORMAL);
    asm.jumpIf('notEqual', 'wait');
    asm.load('value', block('sliceNs'));
    asm.store(block('schedulingSliceNs'), 'value');
    asm.systemCall(kernel.schedSetattr, thisThread, attributes, 0);
    jumpIfZero('nice', 'wait');
    asm.store(block('schedulingNice'), 'value');
    asm.systemCall(kernel.schedSetattr, thisThread, attributes, 0);
  }

  function waiting(): void {
    asm.label('wait');
    asm.load('value', block('command'));
    asm.compareNumber('value', 0);
    asm.jumpIf('notEqual', 'told');
    const eventsAt: Field = { base: 'block', offset: EVENTS_OFFSET };
    const none = 0;
    asm.systemCall(
      kernel.epollWait,
      block('epoll'),
      { addressOf: eventsAt },
      MOST_EVENTS,
      block('timeout'),
      none,
      8,
    );
    setWord('isFlush', 0);
    asm.compareNumber('result', 0);
    asm.jumpIf('greater', 'woken');
    asm.jumpIf('equal', 'quiet');
    asm.compareNumber('result', -EINTR);
    asm.jumpIf('equal', 'wait');
    asm.jump('failed');
    // Nothing was waited for where a ring was pressed: then the timeout was 0.
    asm.label('quiet');
    asm.load('value', block('timeout'));
    asm.store(block('isFlush'), 'value');
    asm.jump('pass');
  }

  /** Descriptors that have hung up would wake the thread for ever: they are taken out. */
  function events(): void {
    asm.label('woken');
    asm.copy('counter', 'result');
    asm.copy('place', 'block');
    asm.addNumber('place', EVENTS_OFFSET);
    asm.label('next_event');
    asm.load32('value', place(kernel.eventData));
    asm.load32('size', place(0));
    asm.set('result', HUNG_UP);
    asm.and('size', 'result');
    asm.load('result', block('control'));
    asm.compare('value', 'result');
    asm.jumpIf('equal', 'control_event');
    asm.compareNumber('size', 0);
    asm.jumpIf('equal', 'event_done');
    asm.store(block('spareFd'), 'value');
    asm.systemCall(kernel.epollControl, block('epoll'), EPOLL_CTL_DEL, block('spareFd'), 0);
    addToWord('open', -1);
    asm.compareNumber('value', 0);
    asm.jumpIf('notEqual', 'event_done');
    setWord('hungUp', 1);
    setWord('mustTell', 1);
    asm.label('event_done');
    asm.addNumber('place', kernel.eventBytes);
    asm.addNumber('counter', -1);
    asm.compareNumber('counter', 0);
    asm.jumpIf('notEqual', 'next_event');
    addToWord('wakeups', 1);
    asm.jump('pass');
  }

  function commands(): void {
    asm.label('control_event');
    asm.compareNumber('size', 0);
    asm.jumpIf('notEqual', 'orphaned');
    asm.label('told');
    asm.load('value', block('command'));
    asm.compareNumber('value', COMMAND_ABANDON);
    asm.jumpIf('equal', 'ended');
    setWord('passesLeft', LAST_PASSES);
  }

  function pass(): void {
    asm.label('pass');
    setWord('hasTaken', 0);
    setWord('isPressed', 0);
    asm.load('counter', block('ringCount'));
    asm.copy('ring', 'block');
    asm.addNumber('ring', RINGS_OFFSET);
    asm.label('next_ring');
    asm.load('place', ring('page'));
    asm.loadAcquire('size', place(MMAP_PAGE_DATA_HEAD));
    asm.store(ring('head'), 'size');
    asm.load('value', ring('tail'));
    asm.subtract('size', 'value');
    asm.compareNumber('size', 0);
    asm.jumpIf('equal', 'ring_done');
    asm.load('result', ring('dataBytes'));
    asm.compare('size', 'result');
    asm.jumpIf('above', 'skewed');
    asm.load('result', ring('pressureBytes'));
    asm.compare('size', 'result');
    asm.jumpIf('below', 'calm');
    asm.set('result', 1);
    asm.store(block('isPressed'), 'result');
    asm.label('calm');
    batch();
    writing();
    asm.label('written');
    setWord('markDue', 0);
    asm.load('value', block('at'));
    asm.storeRelease(block('end'), 'value');
    setWord('hasTaken', 1);
    asm.label('give_back');
    asm.load('place', ring('page'));
    asm.load('value', ring('head'));
    asm.store(ring('tail'), 'value');
    asm.storeRelease(place(MMAP_PAGE_DATA_TAIL), 'value');
    asm.label('ring_done');
    asm.addNumber('ring', RING_ROW_BYTES);
    asm.addNumber('counter', -1);
    asm.compareNumber('counter', 0);
    asm.jumpIf('notEqual', 'next_ring');
    asm.jump('pass_done');
    // Not possible with a kernel that obeys the tail. Starting again at its head beats writing garbage.
    asm.label('skewed');
    asm.load('value', block('skippedBytes'));
    asm.add('value', 'size');
    asm.store(block('skippedBytes'), 'value');
    asm.jump('give_back');
  }

  /**
   * Two spans, the second one maybe empty, from the tail in `value`, `size` bytes; and a mark
   * before them where one is due.
   */
  function batch(): void {
    asm.copy('place', 'block');
    asm.addNumber('place', IOVECS_OFFSET);
    asm.load('result', ring('mask'));
    asm.and('value', 'result');
    asm.load('result', ring('dataBytes'));
    asm.subtract('result', 'value');
    // From now on `result` is what is left up to the ring's end.
    asm.store(place(FIRST_IOVEC), 'value');
    asm.store(place(FIRST_IOVEC + LENGTH), 'size');
    asm.set('value', 0);
    asm.store(place(SECOND_IOVEC + LENGTH), 'value');
    asm.compare('result', 'size');
    asm.jumpIf('notBelow', 'one_span');
    asm.store(place(FIRST_IOVEC + LENGTH), 'result');
    asm.copy('value', 'size');
    asm.subtract('value', 'result');
    asm.store(place(SECOND_IOVEC + LENGTH), 'value');
    asm.label('one_span');
    asm.load('result', ring('data'));
    asm.store(place(SECOND_IOVEC), 'result');
    asm.load('value', place(FIRST_IOVEC));
    asm.add('value', 'result');
    asm.store(place(FIRST_IOVEC), 'value');
    asm.load('value', block('end'));
    asm.store(block('at'), 'value');
    jumpIfZero('markDue', 'no_mark');
    asm.copy('value', 'block');
    asm.addNumber('value', BLOCK.mark);
    asm.store(place(MARK_IOVEC), 'value');
    asm.set('value', MARK_BYTES);
    asm.store(place(MARK_IOVEC + LENGTH), 'value');
    asm.addNumber('size', MARK_BYTES);
    setWord('iovecs', 3);
    asm.jump('write');
    asm.label('no_mark');
    asm.addNumber('place', FIRST_IOVEC);
    setWord('iovecs', 2);
  }

  /** All `size` bytes from the iovec at `place`, however many calls it takes. */
  function writing(): void {
    asm.label('write');
    asm.systemCall(kernel.pwritev, block('file'), 'place', block('iovecs'), block('at'), 0);
    asm.compareNumber('result', 0);
    asm.jumpIf('greater', 'some');
    asm.jumpIf('equal', 'no_room');
    asm.compareNumber('result', -EINTR);
    asm.jumpIf('equal', 'write');
    asm.jump('failed');
    asm.label('some');
    asm.load('value', block('at'));
    asm.add('value', 'result');
    asm.store(block('at'), 'value');
    asm.subtract('size', 'result');
    asm.compareNumber('size', 0);
    asm.jumpIf('equal', 'written');
    asm.label('skip');
    asm.load('value', place(LENGTH));
    asm.compare('value', 'result');
    asm.jumpIf('above', 'inside');
    asm.subtract('result', 'value');
    asm.addNumber('place', IOVEC_BYTES);
    addToWord('iovecs', -1);
    asm.jump('skip');
    asm.label('inside');
    asm.subtract('value', 'result');
    asm.store(place(LENGTH), 'value');
    asm.load('value', place(0));
    asm.add('value', 'result');
    asm.store(place(0), 'value');
    asm.jump('write');
  }

  /**
   * What JavaScript is woken for: data that no watermark announced, the size that was allowed,
   * the end of all descriptors.
   */
  function afterPass(): void {
    asm.label('pass_done');
    jumpIfZero('hasTaken', 'tell');
    setWord('markDue', 1);
    addToWord('rounds', 1);
    jumpIfZero('isFlush', 'no_flush');
    setWord('mustTell', 1);
    asm.label('no_flush');
    asm.load('value', block('limitTold'));
    asm.compareNumber('value', 0);
    asm.jumpIf('notEqual', 'tell');
    asm.load('value', block('end'));
    asm.load('result', block('limit'));
    asm.compare('value', 'result');
    asm.jumpIf('below', 'tell');
    setWord('limitTold', 1);
    setWord('mustTell', 1);
    asm.label('tell');
    jumpIfZero('mustTell', 'nothing_to_tell');
    setWord('mustTell', 0);
    wakeJavaScript();
    asm.label('nothing_to_tell');
    jumpIfZero('passesLeft', 'go_on');
    addToWord('passesLeft', -1);
    asm.compareNumber('value', 0);
    asm.jumpIf('notEqual', 'pass');
    asm.jump('ended');
    asm.label('go_on');
    asm.load('value', block('idleTimeout'));
    asm.store(block('timeout'), 'value');
    jumpIfZero('isPressed', 'wait');
    setWord('timeout', 0);
    asm.jump('wait');
  }

  function endings(): void {
    asm.label('no_room');
    asm.set('value', ENOSPC);
    asm.jump('failed_by');
    asm.label('failed');
    asm.set('value', 0);
    asm.subtract('value', 'result');
    asm.label('failed_by');
    asm.store(block('errno'), 'value');
    asm.set('size', STATE_FAILED);
    asm.jump('leave');

    asm.label('ended');
    asm.set('size', STATE_ENDED);
    jumpIfZero('markDue', 'leave');
    asm.systemCall(kernel.pwrite, block('file'), { addressOf: block('mark') }, MARK_BYTES, block('end'));
    asm.compareNumber('result', MARK_BYTES);
    asm.jumpIf('notEqual', 'leave');
    addToWord('end', MARK_BYTES);
    asm.label('leave');
    asm.storeRelease(block('state'), 'size');
    wakeJavaScript();
    asm.jump('close');

    // JavaScript is gone (a worker was terminated) and cannot unmap the rings, which keep the events alive.
    asm.label('orphaned');
    asm.load('counter', block('ringCount'));
    asm.copy('ring', 'block');
    asm.addNumber('ring', RINGS_OFFSET);
    asm.label('next_mapping');
    asm.systemCall(kernel.munmap, ring('page'), ring('mappingBytes'));
    asm.addNumber('ring', RING_ROW_BYTES);
    asm.addNumber('counter', -1);
    asm.compareNumber('counter', 0);
    asm.jumpIf('notEqual', 'next_mapping');
    asm.label('close');
    for (const name of ['epoll', 'file', 'notice', 'control'] as const)
      asm.systemCall(kernel.closeFd, block(name));
    asm.end();
  }
}
