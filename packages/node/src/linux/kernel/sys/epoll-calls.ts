import { isMainThread } from 'node:worker_threads';
import { adopt } from './adopt.ts';
import { checked, libc, watchDescriptor } from './ffi.ts';
import type { EpollCalls, ReadyDescriptor } from './sys.ts';

const epollCreate1 = libc('int epoll_create1(int flags)');
const epollCtl = libc('int epoll_ctl(int epfd, int op, int fd, void *event)');
const epollWaitCall = libc('int epoll_wait(int epfd, void *events, int maxevents, int timeout)');

const pollCall = libc('int poll(void *descriptors, unsigned long count, int timeout)');

const EPOLL_CLOEXEC = 0o2000000;
const EPOLL_CTL_ADD = 1;
const EPOLL_CTL_DEL = 2;
const EPOLLIN = 0x1;
const EPOLLERR = 0x8;
const EPOLLHUP = 0x10;
/** `struct pollfd { int fd; short events; short revents; }` is two words here. */
const POLLIN = 1;

/**
 * struct epoll_event { u32 events; u64 data; }: packed on x86-64 alone (sys/epoll.h).
 *
 *   x86-64  | events | data        |      others  | events | (gap) | data        |
 *           0        4             12             0        4       8             16
 */
const DATA_OFFSET = process.arch === 'x64' ? 4 : 8;
const EVENT_SIZE = DATA_OFFSET + 8;
const MOST_EVENTS = 64;
const scratchEvents = new Uint8Array(EVENT_SIZE * MOST_EVENTS);
const scratchView = new DataView(scratchEvents.buffer);

/**
 * All rings of a session wait behind one descriptor, so that one wake-up of the event loop serves them all,
 * and descriptors that have hung up are taken out one by one.
 */
export const epollCalls: EpollCalls = {
  // int epoll_create1(int flags)
  epollCreate() {
    return adopt(checked(epollCreate1(EPOLL_CLOEXEC), 'epoll_create1', {}));
  },
  // int epoll_ctl(int epfd, int op, int fd, struct epoll_event *event)
  epollAdd(epoll, fd) {
    const event = new Uint8Array(EVENT_SIZE);
    const view = new DataView(event.buffer);
    view.setUint32(0, EPOLLIN, true);
    view.setInt32(DATA_OFFSET, fd.number, true);
    checked(epollCtl(epoll.number, EPOLL_CTL_ADD, fd.number, event), 'epoll_ctl', { fd: fd.number });
  },
  epollRemove(epoll, fd) {
    checked(epollCtl(epoll.number, EPOLL_CTL_DEL, fd.number, null), 'epoll_ctl', { fd: fd.number });
  },
  // int epoll_wait(int epfd, struct epoll_event *events, int maxevents, int timeout): never waits here
  epollPoll(epoll) {
    const count = checked(epollWaitCall(epoll.number, scratchEvents, MOST_EVENTS, 0), 'epoll_wait', {});
    const ready: ReadyDescriptor[] = [];
    for (let at = 0; at < count * EVENT_SIZE; at += EVENT_SIZE) {
      const bits = scratchView.getUint32(at, true);
      const number = scratchView.getInt32(at + DATA_OFFSET, true);
      ready.push({ number, hasHungUp: (bits & (EPOLLHUP | EPOLLERR)) !== 0 });
    }
    return ready;
  },
  // int poll(struct pollfd *fds, nfds_t nfds, int timeout); an interrupted one is over early
  waitReadable(fd, timeoutMs) {
    const request = Int32Array.of(fd.number, POLLIN);
    return Number(pollCall(request, 1, timeoutMs)) > 0;
  },
  watch(fd, onReadable) {
    const watch = isMainThread
      ? watchDescriptor(fd.number, onReadable)
      : askNowAndThen(fd.number, onReadable);
    let isOpen = true;
    const close = () => {
      if (isOpen) watch.close();
      isOpen = false;
    };
    return { close, [Symbol.dispose]: close };
  },
};

/** A worker asks this often. */
const ASK_INTERVAL_MS = 5;

/**
 * For workers: a watch in the event loop that is still there when a worker is terminated ends the whole
 * process (koffi 3.3), and nobody is asked before that.
 */
function askNowAndThen(fd: number, onReadable: () => void): { close(): void } {
  const isReadable = () => checked(pollCall(Int32Array.of(fd, POLLIN), 1, 0), 'poll', { fd }) > 0;
  const timer = setInterval(() => {
    if (isReadable()) onReadable();
  }, ASK_INTERVAL_MS);
  return { close: () => clearInterval(timer) };
}
