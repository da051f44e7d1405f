/** What is asked of the kernel for branch stacks, beside what perf asks for. No hardware is needed. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { noPerf, perf } from '../../../../../core/src/test/perf.ts';
import { counterpoint } from '../../../test/command-line.ts';

const BITS =
  'USER KERNEL HV ANY ANY_CALL ANY_RETURN IND_CALL ABORT_TX IN_TX NO_TX COND CALL_STACK IND_JUMP CALL NO_FLAGS NO_CYCLES TYPE_SAVE HW_INDEX PRIV_SAVE COUNTERS'.split(
    ' ',
  );
const SAMPLE_BITS =
  'IP TID TIME ADDR READ CALLCHAIN ID CPU PERIOD STREAM_ID RAW BRANCH_STACK REGS_USER STACK_USER WEIGHT DATA_SRC IDENTIFIER TRANSACTION'.split(
    ' ',
  );

function names(word: string, table: readonly string[]): string[] {
  const value = Number(word);
  return table.filter((_, bit) => (value & (1 << bit)) !== 0).sort();
}

interface AskedFor {
  branches: string[];
  sample: string[];
  flags: string[];
}

/** Flags that say what is recorded of whom. */
const FLAGS = ['exclude_kernel', 'exclude_hv', 'exclude_callchain_user', 'exclude_callchain_kernel', 'freq'];

/** The first event that perf tries to open for the user, as it prints it. */
function askedByPerf(words: readonly string[]): AskedFor {
  const { stderr } = perf(['record', '-vvv', '-o', '/dev/null', ...words, 'true']);
  const attrs = stderr.split('perf_event_attr:').slice(1);
  const own = attrs.find((text) => /sample_type\s+IP\|TID/.test(text)) ?? assert.fail(stderr);
  const field = (name: string) => new RegExp(`^ +${name} +(\\S+)$`, 'm').exec(own)?.[1] ?? '';
  return {
    branches: field('branch_sample_type').split('|').filter(Boolean).sort(),
    sample: field('sample_type').split('|').sort(),
    flags: FLAGS.filter((name) => field(name) === '1'),
  };
}

async function askedByUs(words: readonly string[]): Promise<AskedFor> {
  const { status, out, err } = await counterpoint('record', '--plan', '--json', ...words, 'true');
  assert.equal(status, 0, err);
  const { attr } = JSON.parse(out).opens[0];
  return {
    branches: names(attr.branch_sample_type, BITS),
    sample: names(attr.sample_type, SAMPLE_BITS),
    flags: FLAGS.filter((name) => attr[name] === 1),
  };
}

const EVENT = ['-e', 'cycles:u'];
for (const words of [
  ['-b'],
  ...[
    ...[
      'any',
      'any,u',
      'any_call',
      'any_ret,k',
      'ind_call,u',
      'ind_jmp,u',
      'cond,u',
      'in_tx,u',
      'no_tx,u,any',
    ],
    ...[
      'abort_tx,u',
      'call,u',
      'any,save_type,u',
      'any,priv,u',
      'stack,u',
      'hv,any',
      'any,k,u,hv',
      'any,any',
    ],
  ].map((list) => ['-j', list]),
  ['-b', '-c', '100'],
  ['--call-graph', 'lbr'],
  ['-b', '--call-graph', 'lbr'],
  ['-b', '-g'],
]) {
  test(`record ${words.join(' ')} asks for what perf asks for`, { skip: noPerf }, async () => {
    assert.deepEqual(await askedByUs([...EVENT, ...words]), askedByPerf([...EVENT, ...words]));
  });
}

for (const event of [
  'cycles/branch_type=any_call/u',
  'cycles/call-graph=lbr/u',
  'cycles/branch_type=any|u,period=9/u',
])
  test(`-e ${event} asks for what perf asks for`, { skip: noPerf }, async () => {
    // perf takes commas between words.
    const theirs = event.replace('any|u', 'any').replace('branch_type=any,', 'branch_type=any,');
    const [ours, asked] = [await askedByUs(['-e', event]), askedByPerf(['-e', theirs])];
    if (event !== theirs) asked.branches = [...asked.branches, 'USER'].sort();
    assert.deepEqual(ours, asked);
  });

test('words that perf 6.1 lacks, or forgets', async () => {
  const branches = async (list: string) => (await askedByUs([...EVENT, '-j', list])).branches;
  assert.deepEqual(await branches('counter,u'), ['ANY', 'COUNTERS', 'USER']);
  assert.deepEqual(await branches('hw_index,any_ret'), ['ANY_RETURN', 'HW_INDEX']);
  assert.deepEqual(await branches('u'), ['ANY', 'USER']);
  assert.deepEqual(await branches('no_flags,no_cycles,cond'), ['COND', 'NO_CYCLES', 'NO_FLAGS']);
});

test('branches one by one: the plan says where the kernel makes BTS of them', async () => {
  const each = ['-c', '1', '-d', 'true'];
  const { out } = await counterpoint('record', '--plan', '-e', 'branches:u', ...each);
  assert.match(out, /on an Intel processor with BTS .* a sample for each branch/);
  const kernel = await counterpoint('record', '--plan', '-e', 'branches', ...each);
  assert.match(kernel.out, /use branches:u/);
  const some = await counterpoint('record', '--plan', '-e', 'branches:u', '-c', '2', 'true');
  assert.doesNotMatch(some.out, /BTS/);
  const asked = await askedByUs(['-e', 'branches:u', '-c', '1', '-d']);
  assert.deepEqual(asked.sample, ['ADDR', 'DATA_SRC', 'IP', 'TID', 'TIME']);
});

test('without the hardware: an error in words, with another way; the clock is not taken in its place', async (t) => {
  const { status, err } = await counterpoint('record', '-o', '/dev/null', '-b', 'true');
  if (status === 0) return t.skip('this machine has branch stacks');
  assert.equal(status, 1);
  assert.match(err, /cycles:P cannot have branch stacks here \(\w+\)/);
  assert.match(err, /soft\/branches\//);
  const clock = await counterpoint('record', '-o', '/dev/null', '-b', '-e', 'cpu-clock', 'true');
  assert.match(clock.err, /the event cpu-clock cannot have branch stacks here/);
});
