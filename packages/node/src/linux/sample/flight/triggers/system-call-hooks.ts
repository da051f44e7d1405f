import { BPF_TRACE_FENTRY, BPF_TRACE_FEXIT } from '@counterpoint/core/abi';
import { CounterpointError } from '@counterpoint/core/base';
import {
  attachToEvent,
  attachTracing,
  BpfAssembler,
  type BpfMap,
  type BpfMapDefinition,
  type BpfProgram,
  kernelFunctionId,
  loadPrograms,
  ownPidNamespace,
} from '../../../kernel/bpf/index.ts';
import { openPlannedEvent, planEvents } from '../../../kernel/perf-events/index.ts';
import type { Sys } from '../../../kernel/sys/index.ts';
import { resolveEvents } from '../../record/index.ts';

/** A program at the beginning of a system call, and one at its end. */
export interface CallPrograms {
  readonly maps: readonly BpfMapDefinition[];
  /** Writes either; every way through it ends with `end`. */
  program(asm: BpfAssembler, isReturn: boolean, end: () => void): void;
}

export interface CallHooks {
  /** `tracing`: at the kernel's functions themselves. `tracepoint`: every system call pays some 20 ns. */
  readonly kind: 'tracing' | 'tracepoint';
  /** The program for beginnings of calls runs, too. */
  readonly seesEntries: boolean;
  /** From now on it does. */
  hookEntries(): void;
  map(name: string): BpfMap;
  close(): void;
}

/**
 * Run programs at the beginning and the end of these system calls, in every process. At the functions
 * of the kernel where it has BTF and allows that; else at the tracepoints of the calls, which make the kernel
 * look for tracepoints at every system call of the machine. A tracepoint at the beginning costs the call more
 * than one at its end, so there the former waits for `hookEntries`.
 */
export async function hookCalls(
  sys: Sys,
  calls: readonly string[],
  programs: CallPrograms,
): Promise<CallHooks> {
  const functions = calls.flatMap((call) => {
    const btfId = kernelFunctionId(`__${process.arch}_sys_${call}`);
    return btfId === null ? [] : [{ call, btfId }];
  });
  if (functions.length === 0) return await hookTracepoints(sys, calls, programs);
  try {
    return hookFunctions(sys, functions, programs);
  } catch (error) {
    // Some kernels forbid it, whatever the capabilities are.
    if (!(error instanceof CounterpointError)) throw error;
    return await hookTracepoints(sys, calls, programs);
  }
}

const SIDES = [
  { side: 'in', isReturn: false, attachType: BPF_TRACE_FENTRY, tracepoint: 'sys_enter' },
  { side: 'out', isReturn: true, attachType: BPF_TRACE_FEXIT, tracepoint: 'sys_exit' },
] as const;

function assembled(
  name: string,
  type: 'tracing' | 'tracepoint',
  isReturn: boolean,
  { program }: CallPrograms,
): BpfProgram {
  const asm = new BpfAssembler({ name, type, pidNamespace: ownPidNamespace() });
  // Others may record the tracepoint.
  program(asm, isReturn, () => (type === 'tracing' ? asm.return(0) : asm.keepRecord()));
  return asm.assemble();
}

function hookFunctions(
  sys: Sys,
  functions: readonly { call: string; btfId: number }[],
  programs: CallPrograms,
): CallHooks {
  const all = functions.flatMap(({ call, btfId }) =>
    SIDES.map(({ side, isReturn, attachType }) => ({
      ...assembled(`${call}_${side}`, 'tracing', isReturn, programs),
      attach: { type: attachType, btfId },
    })),
  );
  const set = loadPrograms(sys, all, { maps: programs.maps });
  const closing: { close(): void }[] = [set];
  return finished('tracing', set, closing, () => {
    for (const { name } of all) closing.unshift(attachTracing(sys, set.program(name)));
    return null;
  });
}

async function hookTracepoints(
  sys: Sys,
  calls: readonly string[],
  programs: CallPrograms,
): Promise<CallHooks> {
  const sides = SIDES.map(({ side, isReturn }) =>
    assembled(`calls_${side}`, 'tracepoint', isReturn, programs),
  );
  const events = await Promise.all(
    calls.flatMap((call) =>
      SIDES.map(async ({ tracepoint, isReturn }, index) => ({
        program: sides[index]!.name,
        isReturn,
        parsed: await resolveEvents([`syscalls:${tracepoint}_${call}`]).catch(() => []),
      })),
    ),
  );
  const known = events.filter(({ parsed }) => parsed.length > 0);
  if (known.length === 0)
    throw new CounterpointError(
      'ERR_NO_TRIGGER',
      `this kernel has neither BTF nor tracepoints of ${calls.join(', ')}`,
      'As root, mount tracefs: mount -t tracefs tracefs /sys/kernel/tracing',
    );
  const set = loadPrograms(sys, sides, { maps: programs.maps });
  const closing: { close(): void }[] = [set];
  const attach = (isReturn: boolean) => {
    for (const { program, parsed } of known.filter((one) => one.isReturn === isReturn)) {
      const [planned] = planEvents(parsed, COUNTING);
      // The program runs wherever the tracepoint is hit: one event holds it there.
      const event = openPlannedEvent(sys, planned!, -1, 0, null);
      closing.unshift(event);
      closing.unshift(attachToEvent(sys, set.program(program), event));
    }
  };
  return finished('tracepoint', set, closing, () => {
    attach(true);
    return () => attach(false);
  });
}

/** An event that is there for its program. */
const COUNTING = {
  frequency: 1,
  period: 1n,
  isRateGiven: true,
  callchains: 'none',
  inherit: false,
  wholeCpus: true,
  enableOnExec: false,
  startsLater: false,
  levels: 'all',
} as const;

/** `attach` gives what attaches the program for beginnings, where it did not. */
function finished(
  kind: CallHooks['kind'],
  set: { map(name: string): BpfMap },
  closing: readonly { close(): void }[],
  attach: () => (() => void) | null,
): CallHooks {
  const close = () => {
    for (const one of closing) one.close();
  };
  let attachEntries: (() => void) | null;
  try {
    attachEntries = attach();
  } catch (error) {
    close();
    throw error;
  }
  return {
    kind,
    get seesEntries() {
      return attachEntries === null;
    },
    hookEntries() {
      const attachNow = attachEntries;
      attachEntries = null;
      attachNow?.();
    },
    map: (name) => set.map(name),
    close,
  };
}
