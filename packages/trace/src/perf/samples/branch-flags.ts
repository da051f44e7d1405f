import {
  PERF_IP_FLAG_BRANCH,
  PERF_IP_FLAG_CALL,
  PERF_IP_FLAG_CONDITIONAL,
  PERF_IP_FLAG_INTERRUPT,
  PERF_IP_FLAG_RETURN,
  PERF_IP_FLAG_SYSCALLRET,
  PERF_IP_FLAG_VMENTRY,
} from '@counterpoint/core/abi';
import {
  DETAIL_INT,
  DETAIL_INT1,
  DETAIL_INT3,
  DETAIL_INTO,
  DETAIL_IRET,
  DETAIL_VMLAUNCH,
  DETAIL_VMRESUME,
  KIND_CALL,
  KIND_CALL_INDIRECT,
  KIND_CONDITIONAL,
  KIND_FAR_CALL,
  KIND_FAR_RETURN,
  KIND_RETURN,
} from '../../code/instructions/index.ts';

/** What a branch instruction is, as PERF_IP_FLAG_*. */
export function flagsOf(kind: number, detail: number): number {
  switch (kind) {
    case KIND_CALL:
    case KIND_CALL_INDIRECT:
      return PERF_IP_FLAG_BRANCH | PERF_IP_FLAG_CALL;
    case KIND_RETURN:
      return PERF_IP_FLAG_BRANCH | PERF_IP_FLAG_RETURN;
    case KIND_CONDITIONAL:
      return PERF_IP_FLAG_BRANCH | PERF_IP_FLAG_CONDITIONAL;
    case KIND_FAR_CALL:
      switch (detail) {
        case DETAIL_INT:
        case DETAIL_INT3:
        case DETAIL_INT1:
        case DETAIL_INTO:
          return PERF_IP_FLAG_BRANCH | PERF_IP_FLAG_CALL | PERF_IP_FLAG_INTERRUPT;
        default:
          return PERF_IP_FLAG_BRANCH | PERF_IP_FLAG_CALL | PERF_IP_FLAG_SYSCALLRET;
      }
    case KIND_FAR_RETURN:
      if (detail === DETAIL_IRET) return PERF_IP_FLAG_BRANCH | PERF_IP_FLAG_RETURN | PERF_IP_FLAG_INTERRUPT;
      if (detail === DETAIL_VMLAUNCH || detail === DETAIL_VMRESUME)
        return PERF_IP_FLAG_BRANCH | PERF_IP_FLAG_CALL | PERF_IP_FLAG_VMENTRY;
      return PERF_IP_FLAG_BRANCH | PERF_IP_FLAG_RETURN | PERF_IP_FLAG_SYSCALLRET;
    default:
      return PERF_IP_FLAG_BRANCH;
  }
}
