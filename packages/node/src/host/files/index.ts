export { isOfEarlierProcess } from './earlier-file.ts';
export { whyForeignMap } from './foreign-map.ts';
export { NamedFile } from './named-file.ts';
export {
  isForeignInShared,
  isTrusted,
  leadsToDescriptor,
  type OutputFileOptions,
  openOutputFile,
  openOutputFileSync,
  type WaitOptions,
} from './output-file.ts';
export { presentBytes } from './present-bytes.ts';
export {
  openRegularFile,
  openRegularFileSync,
  type RegularFileOptions,
  requireRegular,
} from './regular-file.ts';
export { isOutputFailure, openFailure, WriteError } from './write-error.ts';
