import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { FormatEvent } from '../format.ts';
import { checkFormatOptions } from '../format-options.ts';
import { findFormat } from '../registry.ts';
import { requireStackDepth } from './stack-depth.ts';

const filesThatSay = (text: string | null) => ({ read: () => text });

test('a depth that the kernel does not give is refused, with its setting and what to do', () => {
  const attempt = (depth: number, frames: number) => () =>
    requireStackDepth('stacks', { depth, frames }, filesThatSay('64\n'));
  assert.doesNotThrow(attempt(66, 64));
  assert.throws(attempt(67, 65), {
    code: 'ERR_FORMAT_STACK_DEPTH',
    message: /stacks cannot have depth=67: .* of 64 frames \(kernel\.perf_event_max_stack\)/,
    remedy: /Use depth=66; or, .*: sysctl kernel\.perf_event_max_stack=65$/,
  });
  assert.doesNotThrow(() => requireStackDepth('stacks', { depth: 1000 }, filesThatSay(null)));
});

test('formats ask for it', async () => {
  const { name, options, plan } = await findFormat('stacks');
  const given = checkFormatOptions(name, options, { depth: 1024 });
  const events: FormatEvent[] = [];
  const target = { kind: 'cpus', ids: [], inherits: false, cpus: [0], events } as const;
  // A kernel that was told to give as many is right, too.
  try {
    plan(given as never, target);
  } catch (error) {
    assert.equal((error as { code?: string }).code, 'ERR_FORMAT_STACK_DEPTH');
    return;
  }
  assert.doesNotThrow(() => requireStackDepth('stacks', { depth: 1022 }));
});
