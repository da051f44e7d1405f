import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NO_ITRACE, parseItrace } from './itrace-options.ts';

test('letters in any order, with numbers and units', () => {
  assert.deepEqual(parseItrace(''), NO_ITRACE);
  assert.deepEqual(parseItrace('i100us'), { ...NO_ITRACE, instructions: true, period: 100_000 });
  assert.deepEqual(parseItrace('i1i'), {
    ...NO_ITRACE,
    instructions: true,
    period: 1,
    periodUnit: 'instructions',
  });
  assert.deepEqual(parseItrace('i 5t,b'), {
    ...NO_ITRACE,
    instructions: true,
    period: 5,
    periodUnit: 'ticks',
    branches: true,
  });
  const all = parseItrace('bcrxwpoIe-o+lg32l8s1000qqAZG2L3y1ms');
  assert.deepEqual(all, {
    instructions: false,
    cycles: true,
    period: 1_000_000,
    periodUnit: 'ns',
    branches: true,
    calls: true,
    returns: true,
    callSteps: false,
    transactions: true,
    ptwrites: true,
    power: true,
    other: true,
    eventTrace: true,
    errors: true,
    withoutOverflows: true,
    withoutLost: false,
    callChain: 32,
    recordedCallChain: 2,
    lastBranches: 8,
    recordedLastBranches: 3,
    skip: 1000,
    quick: 2,
    approximateIpc: true,
    timeless: true,
    log: null,
  });
  assert.deepEqual(parseItrace('d').log, { records: true, onlyErrors: false, toOutput: false });
  assert.deepEqual(parseItrace('id+e-a+oe').log, { records: false, onlyErrors: true, toOutput: true });
  assert.ok(parseItrace('d+ee').errors);
  assert.equal(parseItrace('igl').callChain, 16);
  assert.equal(parseItrace('igl').lastBranches, 64);
});

test('what cannot be is pointed at', () => {
  const column = (text: string): number => {
    try {
      parseItrace(text);
    } catch (error) {
      const [, pointer = ''] = String(error).split('\n');
      return pointer.indexOf('\\') - "itrace syntax error: '".length;
    }
    return -1;
  };
  assert.equal(column('ib?'), 2);
  assert.equal(column('i10x'), 3);
  assert.equal(column('g2000'), 1);
  assert.equal(column('g0'), 1);
  assert.equal(column('bs'), 2);
  assert.equal(column('e-x'), 2);
  assert.equal(column('d+x'), 2);
  assert.equal(column(`i${'9'.repeat(30)}i`), 1);
  assert.throws(() => parseItrace('t'), { code: 'ERR_ITRACE_SYNTAX', message: /Arm/ });
});
