import {
  PERF_EVENT_IOC_DISABLE,
  PERF_EVENT_IOC_ENABLE,
  PERF_EVENT_IOC_ID,
  PERF_EVENT_IOC_MODIFY_ATTRIBUTES,
  PERF_EVENT_IOC_PAUSE_OUTPUT,
  PERF_EVENT_IOC_PERIOD,
  PERF_EVENT_IOC_QUERY_BPF,
  PERF_EVENT_IOC_REFRESH,
  PERF_EVENT_IOC_RESET,
  PERF_EVENT_IOC_SET_BPF,
  PERF_EVENT_IOC_SET_FILTER,
  PERF_EVENT_IOC_SET_OUTPUT,
  PERF_FLAG_FD_CLOEXEC,
  PERF_IOC_FLAG_GROUP,
} from '@counterpoint/core/abi';
import { adopt } from './adopt.ts';
import { checked, libc, type NativeArgument } from './ffi.ts';
import type { Fd } from './handles.ts';
import type { PerfEventCalls } from './sys.ts';
import { syscallNumbers } from './syscall-numbers.ts';

const syscallOpen = libc(
  'long syscall(long number, void *attr, long pid, long cpu, long groupFd, long flags)',
);
const ioctlNumber = libc('int ioctl(int fd, unsigned long request, unsigned long argument)');
const fcntlNumber = libc('int fcntl(int fd, int command, long argument)');
const fcntlPointer = libc('int fcntl(int fd, int command, void *argument)');

// asm-generic/fcntl.h; the same on x86-64 and arm64.
const F_GETFL = 3;
const F_SETFL = 4;
const F_SETSIG = 10;
const F_SETOWN_EX = 15;
const F_OWNER_TID = 0;
const O_ASYNC = 0o20000;

const ioctlPointer = libc('int ioctl(int fd, unsigned long request, void *argument)');

function control(fd: Fd, name: string, request: number, argument: number): void {
  checked(ioctlNumber(fd.number, request, argument), `ioctl ${name}`, { fd: fd.number, argument });
}

function controlWith(fd: Fd, name: string, request: number, argument: NativeArgument): void {
  checked(ioctlPointer(fd.number, request, argument), `ioctl ${name}`, { fd: fd.number });
}

/** perf_event_open(2) and one function per ioctl of `format/abi/ioctl.ts`. */
export const perfEventCalls: PerfEventCalls = {
  // int perf_event_open(struct perf_event_attr *attr, pid_t pid, int cpu, int group_fd, unsigned long flags)
  perfEventOpen(attr, pid, cpu, groupFd, flags = 0) {
    const group = groupFd?.number ?? -1;
    const number = syscallNumbers().perfEventOpen;
    const result = syscallOpen(number, attr, pid, cpu, group, flags | PERF_FLAG_FD_CLOEXEC);
    return adopt(checked(result, 'perf_event_open', { pid, cpu, group }));
  },
  // int ioctl(int fd, PERF_EVENT_IOC_ENABLE, unsigned long flags)
  enable(fd, wholeGroup = false) {
    control(fd, 'ENABLE', PERF_EVENT_IOC_ENABLE, wholeGroup ? PERF_IOC_FLAG_GROUP : 0);
  },
  // int ioctl(int fd, PERF_EVENT_IOC_DISABLE, unsigned long flags)
  disable(fd, wholeGroup = false) {
    control(fd, 'DISABLE', PERF_EVENT_IOC_DISABLE, wholeGroup ? PERF_IOC_FLAG_GROUP : 0);
  },
  // int ioctl(int fd, PERF_EVENT_IOC_REFRESH, int overflows)
  refresh(fd, overflows) {
    control(fd, 'REFRESH', PERF_EVENT_IOC_REFRESH, overflows);
  },
  // int ioctl(int fd, PERF_EVENT_IOC_RESET, unsigned long flags)
  reset(fd, wholeGroup = false) {
    control(fd, 'RESET', PERF_EVENT_IOC_RESET, wholeGroup ? PERF_IOC_FLAG_GROUP : 0);
  },
  // int ioctl(int fd, PERF_EVENT_IOC_PERIOD, u64 *period)
  setPeriod(fd, period) {
    controlWith(fd, 'PERIOD', PERF_EVENT_IOC_PERIOD, BigUint64Array.of(period));
  },
  // int ioctl(int fd, PERF_EVENT_IOC_SET_OUTPUT, int ring_fd)
  setOutput(fd, ring) {
    control(fd, 'SET_OUTPUT', PERF_EVENT_IOC_SET_OUTPUT, ring?.number ?? -1);
  },
  // int ioctl(int fd, PERF_EVENT_IOC_SET_FILTER, char *filter)
  setFilter(fd, filter) {
    controlWith(fd, 'SET_FILTER', PERF_EVENT_IOC_SET_FILTER, Buffer.from(`${filter}\0`));
  },
  // int ioctl(int fd, PERF_EVENT_IOC_ID, u64 *id)
  eventId(fd) {
    const id = new BigUint64Array(1);
    controlWith(fd, 'ID', PERF_EVENT_IOC_ID, id);
    return id[0]!;
  },
  // int ioctl(int fd, PERF_EVENT_IOC_SET_BPF, u32 program_fd)
  setBpf(fd, program) {
    control(fd, 'SET_BPF', PERF_EVENT_IOC_SET_BPF, program.number);
  },
  // int ioctl(int fd, PERF_EVENT_IOC_PAUSE_OUTPUT, u32 pause)
  pauseOutput(fd, pause) {
    control(fd, 'PAUSE_OUTPUT', PERF_EVENT_IOC_PAUSE_OUTPUT, pause ? 1 : 0);
  },
  // int ioctl(int fd, PERF_EVENT_IOC_QUERY_BPF, struct perf_event_query_bpf { u32 ids_len;
  // u32 prog_cnt; u32 ids[]; } *)
  queryBpf(fd, most) {
    const query = new Uint32Array(2 + most);
    query[0] = most;
    controlWith(fd, 'QUERY_BPF', PERF_EVENT_IOC_QUERY_BPF, query);
    return [...query.subarray(2, 2 + Math.min(most, query[1]!))];
  },
  // int ioctl(int fd, PERF_EVENT_IOC_MODIFY_ATTRIBUTES, struct perf_event_attr *attr)
  modifyAttributes(fd, attr) {
    controlWith(fd, 'MODIFY_ATTRIBUTES', PERF_EVENT_IOC_MODIFY_ATTRIBUTES, attr);
  },
  // int fcntl(int fd, F_SETOWN_EX, struct f_owner_ex { int type; pid_t pid; } *); F_SETSIG; F_SETFL O_ASYNC
  signalThread(fd, tid, signal) {
    const about = { fd: fd.number, tid, signal };
    checked(
      fcntlPointer(fd.number, F_SETOWN_EX, Int32Array.of(F_OWNER_TID, tid)),
      'fcntl F_SETOWN_EX',
      about,
    );
    checked(fcntlNumber(fd.number, F_SETSIG, signal), 'fcntl F_SETSIG', about);
    const flags = checked(fcntlNumber(fd.number, F_GETFL, 0), 'fcntl F_GETFL', about);
    checked(fcntlNumber(fd.number, F_SETFL, flags | O_ASYNC), 'fcntl F_SETFL', about);
  },
};
