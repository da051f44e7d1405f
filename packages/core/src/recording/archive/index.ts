export { type Archive, openArchive } from './archive.ts';
export { type ArchivedFile, writeArchive } from './write-archive.ts';
