import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NO_WORK, workMark, workOf } from './categories.ts';

/** Functions on stacks that were recorded of Node 20, 22 and 24, and what they are about. */
const SEEN: readonly (readonly [string, readonly string[]])[] = [
  [
    'GC: scavenge',
    [
      'v8::internal::Heap::CollectGarbage',
      'v8::internal::ScavengerCollector::JobTask::Run',
      'v8::internal::Scavenger::ScavengeObject<v8::internal::FullHeapObjectSlot>',
    ],
  ],
  ['GC: mark-compact', ['v8::internal::ConcurrentMarking::JobTaskMajor::Run']],
  [
    'GC: mark-compact',
    ['v8::internal::Heap::CollectGarbage', 'v8::internal::MarkCompactCollector::CollectGarbage'],
  ],
  ['GC: sweep', ['v8::internal::Sweeper::MajorSweeperJob::RunImpl']],
  ['GC', ['v8::internal::Heap::CollectGarbage']],
  [
    'compile: TurboFan',
    [
      'v8::internal::OptimizingCompileDispatcher::CompileTask::Run',
      'v8::internal::compiler::PipelineCompilationJob::ExecuteJobImpl',
      'v8::internal::compiler::GraphReducer::ReduceTop',
    ],
  ],
  [
    'compile: Maglev',
    [
      'v8::internal::maglev::MaglevConcurrentDispatcher::JobTask::Run',
      'v8::internal::compiler::JSHeapBroker::GetOrCreateData',
    ],
  ],
  [
    'compile: Sparkplug',
    ['v8::internal::Compiler::CompileSharedWithBaseline', 'v8::internal::baseline::BaselineCompiler::Build'],
  ],
  [
    'compile: bytecode',
    ['v8::internal::Compiler::Compile', 'v8::internal::interpreter::BytecodeGenerator::Visit'],
  ],
  [
    'parse',
    [
      'v8::internal::Compiler::Compile',
      'v8::internal::parsing::ParseFunction',
      'v8::internal::ParserBase<v8::internal::Parser>::ParseBlock',
    ],
  ],
  ['inline cache miss', ['v8::internal::Runtime_LoadIC_Miss', 'v8::internal::LoadIC::Load']],
  ['regexp', ['Builtins_RegExpPrototypeExec', 'RegExp:(a+)+$']],
];

test('functions of V8 are known for what they do, whatever order they call each other in', () => {
  for (const [name, functions] of SEEN) {
    const marks = functions.reduce((sum, text) => sum | workMark(text), NO_WORK);
    assert.equal(workOf(marks)?.name, name, functions.join(' '));
  }
});

test('other functions are not taken for those of V8', () => {
  for (const name of [
    'main',
    'RegExp::Compile',
    'Scavenger::run',
    'node::Buffer::StringSlice',
    'v8::internal::Runtime_StringCharCodeAt',
    'v8::internal::Factory::NewFillerObject',
    'Builtins_LoadIC_Megamorphic',
    'JS:CollectGarbage /app/a.js:1:1',
    'v8::Script::Run',
  ])
    assert.equal(workMark(name), NO_WORK, name);
});
