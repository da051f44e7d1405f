import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Sys, SysError } from '../../kernel/sys/index.ts';
import { HandlerCost } from './handler-cost.ts';

test('the first second is measured whole, then a tenth, and nothing stays switched on', (context) => {
  context.mock.timers.enable({ apis: ['setTimeout'] });
  let isOn = false;
  const sys = {
    bpfEnableStats: () => {
      assert.equal(isOn, false);
      isOn = true;
      return { [Symbol.dispose]: () => void (isOn = false) };
    },
  } as unknown as Sys;
  const cost = new HandlerCost(sys);
  const onMs: number[] = [];
  for (let ms = 0; ms < 3000; ms += 10) {
    if (isOn) onMs.push(ms);
    context.mock.timers.tick(10);
  }
  assert.equal(onMs.filter((ms) => ms < 1000).length, 100);
  assert.equal(onMs.filter((ms) => ms >= 1000).length, 20);
  context.mock.timers.tick(900);
  assert.equal(isOn, true);
  cost[Symbol.dispose]();
  assert.equal(isOn, false);
  context.mock.timers.tick(5000);
  assert.equal(isOn, false);
});

test('who may not measure goes without', () => {
  const sys = {
    bpfEnableStats: () => {
      throw new SysError('bpf ENABLE_STATS', 1, {});
    },
  } as unknown as Sys;
  new HandlerCost(sys)[Symbol.dispose]();
});
