/** A recording with what names it, in one file. */
export {
  type Archive,
  type ArchivedFile,
  openArchive,
  writeArchive,
} from '../recording/archive/index.ts';
