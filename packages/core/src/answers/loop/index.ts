export { readEventLoops } from './event-loops.ts';
export type { TurnKind } from './kept-turns.ts';
export type {
  LoopBlocker,
  LoopFunction,
  LoopOptions,
  LoopPart,
  LoopRow,
  LoopShare,
  LoopsAnswer,
  LoopTurn,
  LoopWait,
  PoolRow,
} from './loop-answer.ts';
export type { PartState } from './turn-parts.ts';
