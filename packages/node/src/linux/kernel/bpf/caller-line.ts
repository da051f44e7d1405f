/**
 * Whose line asked for an instruction: the innermost frame of the stack that is not the assembler's own. A
 * stack is taken per instruction and turned into text only when somebody wants to know: V8 formats it on
 * the first look, and maps lines back to TypeScript where the process loaded its modules with source maps
 * (tsx, or --enable-source-maps).
 */
import { dirname, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { SourceLine } from './program.ts';

/** A stack taken, not yet read. */
export interface CallSite {
  /** The stack, as V8 writes it at its first read. */
  stack?: unknown;
  /** Once it is read. */
  line?: SourceLine | null;
}

/** Our own frames between a caller and the instruction, and then some. */
const FRAMES = 24;

/**
 * Files whose frames are not callers: this room; or, where it is bundled, all that is published with it.
 *
 *   packages/node/src/linux/kernel/bpf/caller-line.ts   ->  packages/node/src/linux/kernel/bpf/
 *   packages/node/dist/chunks/xyz.js       ->  packages/node/
 */
const HERE = dirname(fileURLToPath(import.meta.url)) + sep;
const IS_BUNDLED = !HERE.endsWith(`${sep}bpf${sep}`);
const OWN_FOLDER = IS_BUNDLED ? HERE.slice(0, HERE.lastIndexOf(`${sep}dist${sep}`) + 1) : HERE;
/** What is called on an assembler, of our class or of one made from it. */
const OWN_FRAME = /^(?:new |async )*\w*(?:Assembler|ProgramWriter|StackFrame)\b/;
/** `at name (place:line:column)` or `at place:line:column`. */
const FRAME = /^\s*at (?:(.*?) \()?((?:file:\/\/|\/|[A-Za-z]:\\)[^()]*|[^()\s]+):(\d+):(\d+)\)?$/;

export function takeCallSite(): CallSite {
  const site: CallSite = {};
  const limit = Error.stackTraceLimit;
  Error.stackTraceLimit = FRAMES;
  Error.captureStackTrace(site, takeCallSite);
  Error.stackTraceLimit = limit;
  return site;
}

/** The caller's line; null where the stack does not tell. */
export function readCallSite(site: CallSite): SourceLine | null {
  site.line ??= findCaller(site.stack);
  return site.line;
}

function findCaller(stack: unknown): SourceLine | null {
  // Whoever sets Error.prepareStackTrace may answer something that is not text.
  if (typeof stack !== 'string') return null;
  // In a bundle, a format of our own has no frame outside: then it is whoever calls the assembler.
  let inBundle: SourceLine | null = null;
  for (const text of stack.split('\n')) {
    const frame = FRAME.exec(text);
    if (frame === null) continue;
    const [, name = '', place = '', line, column] = frame;
    if (place.startsWith('node:') || OWN_FRAME.test(name)) continue;
    const file = place.startsWith('file://') ? fileURLToPath(place) : place;
    const found = { file, line: Number(line), column: Number(column) };
    if (!isOwnFile(file)) return found;
    if (IS_BUNDLED) inBundle ??= found;
  }
  return inBundle;
}

function isOwnFile(file: string): boolean {
  return OWN_FOLDER !== '' && file.startsWith(OWN_FOLDER) && !/\.test\.[jt]s$/.test(file);
}
