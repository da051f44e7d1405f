export { bunzip2, isBzip2 } from './bzip2.ts';
export { openArchiveFile } from './open-archive-file.ts';
