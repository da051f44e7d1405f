export { type ErrnoName, type FakeEvent, FakeRing, FakeSys } from './fake-sys.ts';
export { Fd, liveHandles, Mapping, NativeCode, traceHandles } from './handles.ts';
export { type PinnedText, pinText } from './pinned-text.ts';
export { realSys } from './real-sys.ts';
export type { ProcessTimes, ReadyDescriptor, Resource, ResourceLimit, Sys, Watch } from './sys.ts';
export { SysError } from './sys-error.ts';
