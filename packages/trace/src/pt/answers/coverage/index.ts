export { type ExecutedRange, executedRanges, writeAutofdo } from './autofdo.ts';
export {
  type AddressName,
  type BranchTarget,
  branchList,
  type CountedBranch,
  writeBranchJson,
  writeBranchText,
} from './branch-list.ts';
export { type CoveredBranch, type SourceCoverage, sourceCoverage } from './coverage.ts';
export { FileCounts } from './file-counts.ts';
export { type FunctionCoverage, functionCoverage, writeFunctionCoverage } from './function-coverage.ts';
export { writeLcov } from './lcov.ts';
export { openProgramFile, type ProgramFile } from './program-file.ts';
