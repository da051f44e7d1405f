export { leftNames } from './left-names.ts';
export { groupOf, hasEnded, ownerOf, thisOwner } from './owner.ts';
export { type PassingFile, passingFile } from './passing-file.ts';
export { removeLeftDirectories, temporaryDirectory } from './temporary-directory.ts';
