export {
  BuildIdCache,
  type CachedBinary,
  cacheFolder,
  type FileSort,
  KERNEL_PATH,
  VDSO_PATH,
} from './build-id-cache.ts';
export { type KeepResult, type Kept, keepBinaries } from './keep.ts';
