export { type DiskDriverOptions, debugFilePaths, diskDriver } from './disk-driver.ts';
export { isBuildId } from './file-paths.ts';
export { type FileSource, openFileSource } from './file-source.ts';
export { kernelBuildId } from './kernel-build-id.ts';
export { isBesideRings, kernelCoreOf, openRecordingDirectory } from './recording-directory.ts';
export { readVdso } from './vdso.ts';
