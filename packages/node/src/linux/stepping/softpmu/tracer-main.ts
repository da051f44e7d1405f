/** The tracer's process. Its one thread traces, and does nothing else. */
import { writeSync } from 'node:fs';
import { constants } from 'node:os';
import { CounterpointError } from '@counterpoint/core/base';
import {
  interruptCallsEvery,
  isReadable,
  setParentDeathSignal,
  waitUntilWritable,
} from '../../kernel/sys/index.ts';
import { FastStepper } from './fast/fast-stepper.ts';
import { FunctionGate } from './function-gate.ts';
import { stopPlaces } from './function-stops.ts';
import { ROWS_FD, type TracerAnswer, type TracerOrder } from './messages.ts';
import { refusedAttach } from './refused-attach.ts';
import { SoftSampler } from './soft-sampler.ts';
import { SoftTracer } from './soft-tracer.ts';
import { stepSinks } from './step-sink.ts';
import { Stepper } from './stepper.ts';

/** A parent that ends is seen at once by its signal, else by its pipe after so long. */
const QUESTION_MS = 50;
/** Translated code runs wherever the kernel likes. */
const CPU_UNKNOWN = -1;
const STANDARD_INPUT = 0;
const STANDARD_OUTPUT = 1;

function tell(answer: TracerAnswer): void {
  try {
    writeSync(STANDARD_OUTPUT, `${JSON.stringify(answer)}\n`);
  } catch {
    // Its parent is gone.
  }
}

/** Waits while the parent is slow: nothing is stepped meanwhile, and nothing is lost. */
function send(bytes: Uint8Array): void {
  for (let sent = 0; sent < bytes.length; ) {
    try {
      sent += writeSync(ROWS_FD, bytes, sent);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EAGAIN') waitUntilWritable(ROWS_FD, QUESTION_MS);
      // Else its parent is gone, which `shouldStop` sees.
      else return;
    }
  }
}

function trace({
  tids,
  fromExec,
  parentPid,
  way,
  samples = [],
  tracing = null,
  onFunction,
  stopsBy,
  stopAfter,
}: TracerOrder): void {
  // Ctrl-C is for the target and for the command, which says when to stop. The handler of
  // the alarm never runs either: what matters is that it interrupts waiting.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGALRM'] as const)
    process.on(signal, () => {});
  setParentDeathSignal(constants.signals.SIGALRM);
  interruptCallsEvery(constants.signals.SIGALRM, QUESTION_MS);
  // The parent writes nothing but its wish to stop; its end closes the pipe.
  const shouldStop = () => process.ppid !== parentPid || isReadable(STANDARD_INPUT);
  const sinkOn = (cpu: number) =>
    stepSinks([
      ...(samples.length > 0 ? [new SoftSampler(samples, cpu, send)] : []),
      ...(tracing === null ? [] : [new SoftTracer(tracing, send)]),
    ]);
  const stepper =
    way === 'fast' ? new FastStepper(shouldStop, sinkOn(CPU_UNKNOWN)) : new Stepper(tids, shouldStop);
  if (stepper instanceof Stepper) {
    if (onFunction !== undefined) stepper.gate = new FunctionGate(onFunction, stopPlaces(stopsBy));
    if (stopAfter !== undefined) stepper.stopAfter = stopAfter;
    stepper.sink = sinkOn(stepper.cpu);
  }
  for (const tid of tids) {
    try {
      stepper.attach(tid, fromExec);
    } catch (error) {
      // Threads that were attached before are let go when this process ends: none steps yet.
      throw error instanceof CounterpointError ? refusedAttach(tid, error) : error;
    }
  }
  tell({ type: 'attached' });
  stepper.run();
  const gate = stepper instanceof Stepper ? stepper.gate : null;
  if (gate?.isFound === false) throw gate.error();
  tell({ type: 'done', counts: stepper.counts, stepped: stepper.stepped });
}

try {
  trace(JSON.parse(process.argv[2]!) as TracerOrder);
} catch (error) {
  const { message } = error as Error;
  const known = error instanceof CounterpointError ? error : null;
  tell({ type: 'failed', code: known?.code ?? 'ERR_TRACER', message, remedy: known?.remedy ?? '' });
}
process.exit(0);
