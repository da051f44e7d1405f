/**
 * What a JavaScript engine does with its time, by the names of V8's functions (C++ names without
 * parameters, symbols of its builtins, lines of the perf map). Seen in V8 11.3 to 13.6.
 */

/** A kind of work. The text is what reports and exports call it. */
export const CATEGORIES = {
  javascript: 'JavaScript',
  wasm: 'WebAssembly',
  regexp: 'regular expressions',
  builtin: 'builtins',
  ic: 'inline cache misses',
  gc: 'GC',
  compile: 'compilation',
  parse: 'parsing',
  native: 'native',
  nameless: 'code without names',
  kernel: 'kernel',
} as const;

/** What a sample of a JavaScript program counts as. */
export type Category = keyof typeof CATEGORIES;

/** One line of the table of work. */
export interface Work {
  category: Category;
  /** `GC: scavenge` */
  name: string;
}

interface WorkRule extends Work {
  pattern: RegExp;
}

/**
 * First line first: where a stack has functions of several lines, the first one says what it is about.
 * Scavenges are part of collections, parsing is part of compilation, Maglev uses parts of TurboFan.
 */
const RULES: readonly WorkRule[] = [
  {
    category: 'gc',
    name: 'GC: scavenge',
    pattern:
      /^v8::internal::(?:\(anonymous namespace\)::)?(?:Scaveng|IterateAndScavenge|RootScavenge|Heap::Scavenge)/,
  },
  {
    category: 'gc',
    name: 'GC: mark-compact',
    pattern:
      /^v8::internal::(?:\(anonymous namespace\)::)?(?:MarkCompact|MinorMarkSweep|ConcurrentMarking|IncrementalMarking|Marking|Heap::MarkCompact|Evacuator|PageEvacuation|PointersUpdating|ParallelClearing|ClearStringTable)/,
  },
  {
    category: 'gc',
    name: 'GC: sweep',
    pattern: /^v8::internal::(?:\(anonymous namespace\)::)?(?:Sweeper|ArrayBufferSweeper)/,
  },
  { category: 'gc', name: 'GC: C++ objects', pattern: /^(?:cppgc::|v8::internal::CppHeap)/ },
  {
    category: 'gc',
    name: 'GC',
    pattern:
      /^v8::internal::Heap::(?:CollectGarbage|CollectAll|PerformGarbageCollection|PerformHeapLimit|FinalizeIncremental)/,
  },
  {
    category: 'compile',
    name: 'compile: WebAssembly',
    pattern: /^v8::internal::wasm::(?:.*Compil|Liftoff|.*::Liftoff|NativeModule|ModuleDecoder)/,
  },
  {
    category: 'compile',
    name: 'compile: Maglev',
    pattern: /^v8::internal::(?:maglev::|Compiler::FinalizeMaglev)/,
  },
  {
    category: 'compile',
    name: 'compile: TurboFan',
    pattern:
      /^v8::internal::(?:compiler::|OptimizingCompileDispatcher|Turbofan|TurboFan|OptimizedCompilation|Compiler::(?:CompileOptimized|FinalizeTurbofan|FinalizeOptimized)|\(anonymous namespace\)::GetOrCompileOptimized)/,
  },
  {
    category: 'compile',
    name: 'compile: Sparkplug',
    pattern: /^v8::internal::(?:baseline::|Compiler::(?:CompileBaseline|CompileSharedWithBaseline))/,
  },
  {
    category: 'parse',
    name: 'parse',
    pattern:
      /^v8::internal::(?:parsing::|Pars(?:er|ing|e)|PreParser|Scanner|ModuleScopeInfo|AstValueFactory)/,
  },
  {
    category: 'compile',
    name: 'compile: bytecode',
    pattern:
      /^v8::internal::(?:interpreter::(?!Runtime)|Compiler::|UnoptimizedCompilation|LazyCompileDispatcher|CodeSerializer)/,
  },
  {
    category: 'regexp',
    name: 'regexp',
    pattern:
      /^(?:RegExp(?::(?!:)|\.)|Builtins_RegExp|v8::internal::(?:RegExp|regexp::|Irregexp|NativeRegExp))/,
  },
  { category: 'ic', name: 'inline cache miss', pattern: /^v8::internal::(?:Runtime_\w*IC_|\w*IC::)/ },
];

/** What is left, by the innermost function. */
export const BUILTIN_WORK: Work = { category: 'builtin', name: 'builtin' };
export const NATIVE_WORK: Work = { category: 'native', name: 'native' };
export const NAMELESS_WORK: Work = { category: 'nameless', name: 'code without names' };
export const KERNEL_WORK: Work = { category: 'kernel', name: 'kernel' };

/** Marks of functions in the work mask of a stack: a bit for each line of the table. */
export const NO_WORK = 0;

/** The mark of a function; `NO_WORK` where its name says nothing. */
export function workMark(functionName: string): number {
  for (let rule = 0; rule < RULES.length; rule++)
    if (RULES[rule]!.pattern.test(functionName)) return 1 << rule;
  return NO_WORK;
}

/** What functions with these marks, one calling the other, do; null where no name says it. */
export function workOf(marks: number): Work | null {
  if (marks === NO_WORK) return null;
  // The lowest bit that is set.
  return RULES[31 - Math.clz32(marks & -marks)]!;
}

/** Code of V8 that is built into its program. */
export function isBuiltin(functionName: string): boolean {
  return functionName.startsWith('Builtins_');
}

/**
 * Under `--interpreted-frames-native-stack` each interpreted function has a copy of this
 * builtin of its own, with its name. Functions of the snapshot that Node starts from (Node 22
 * and later) run in the builtin itself.
 */
export const UNNAMED_INTERPRETED = 'Builtins_InterpreterEntryTrampoline';

/**
 * Code of an expression, as V8 11 and 12 write it, and as V8 13 does: `RegExp:a+b`,
 * `RegExp.> src: 'a+b' flags: 'i'`; V8 14 also `RegExp.< src`.
 */
const EXPRESSION = /^RegExp(?::(?!:)(.*)|\.[<>] src: '(.*)' flags: '(\w*)')$/s;

/** `/a+b/i`; null: it is no code of an expression. */
export function expressionText(functionName: string): string | null {
  const [, source, newSource, flags = ''] = EXPRESSION.exec(functionName) ?? [];
  const text = source ?? newSource;
  return text === undefined ? null : `/${text}/${flags}`;
}
