export type {
  BranchAnswer,
  BranchAnswerHead,
  BranchBlock,
  BranchCounts,
  BranchEdge,
  BranchFunction,
  BranchLoop,
  BranchPlace,
  BranchRows,
  BranchView,
  MispredictedBranch,
} from './branch-answers.ts';
export type { BranchOptions } from './branch-report.ts';
export { branchReport } from './branch-report.ts';
