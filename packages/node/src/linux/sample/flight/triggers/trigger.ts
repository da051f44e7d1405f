import { CounterpointError } from '@counterpoint/core/base';
import type { Sys } from '../../../kernel/sys/index.ts';
import type { Scope } from '../../record/index.ts';

export type ProcessListener = (pid: number, isThere: boolean) => void;

/** What a trigger sees of the recorder that it belongs to. */
export interface TriggerContext {
  sys: Sys;
  scope: Scope;
  /** Threads, or [-1] for everybody, and the CPUs on which they are watched. */
  target: { readonly tasks: readonly number[]; readonly cpus: readonly number[] };
  /** The process of the command, and those that were named. */
  pids: readonly number[];
  /**
   * Hear of the processes that are watched, those of now and later ones, and of
   * their ends. Gives what ends it.
   */
  watchProcesses(listener: ProcessListener): () => void;
  /** The name of a thread that is watched, or was a moment ago; null: nobody knows it. */
  nameOf(pid: number, tid: number): string | null;
  /** The target has children and threads later: they are watched, too. */
  inherit: boolean;
  /** Ask for a file; the text says why, and the number in which process, where it is one's. */
  fire(text: string, pid?: number): void;
  /** For so long from now `fire` is only counted, at least; 0 where it makes a file. */
  closedMs(): number;
  /** Something else that there is to know. */
  note(text: string): void;
  /** It cannot go on: the others do. */
  fail(error: unknown): void;
}

/** A trigger that waits, until it is disposed of: then it looks a last time, and may fire. */
export interface WaitingTrigger extends Disposable {
  /** How often it came without `fire`, since this was asked last. Asked once more when it is disposed of. */
  takeHeldBack?(): number;
}

export type StartTrigger = (context: TriggerContext) => WaitingTrigger | Promise<WaitingTrigger>;

/**
 * Who asks for files. What a person asks for is never too much. A clock comes as often as it was told to.
 * What happens may happen much too often.
 */
export type TriggerSource = 'person' | 'clock' | 'event';

/** What a trigger says, or asks for itself. */
export interface Trigger {
  /** As it was given. */
  text: string;
  start: StartTrigger;
  /** `end`: at the end of the target; `crash`: where that was a crash. */
  atEnd?: 'end' | 'crash';
  /** Default: something that happens. */
  source?: TriggerSource;
}

/** One kind of trigger, by the word before its first colon. */
export interface TriggerKind {
  name: string;
  /** As help shows it. */
  form: string;
  help: string;
  example: string;
  /** `argument` is what stands after the colon; null without one. */
  parse(argument: string | null, text: string): Trigger | Promise<Trigger>;
}

export function badTrigger(text: string, why: string, remedy: string): CounterpointError {
  return new CounterpointError('ERR_TRIGGER', `the trigger ${text}: ${why}`, remedy);
}

/** This machine cannot wait for it. */
export function noTrigger(text: string, why: string, remedy: string): CounterpointError {
  return new CounterpointError('ERR_NO_TRIGGER', `the trigger ${text}: ${why}`, remedy);
}

/** Nothing to end. */
export const NOTHING: Disposable = { [Symbol.dispose]() {} };
