/** A simulated CPU in a thread of its own, with its own pace: see `AuxKernel`. */
import { parentPort } from 'node:worker_threads';
import { SampleLayout } from '@counterpoint/core/records';
import { AuxKernel, type AuxKernelOptions, ENDED } from './aux-kernel.ts';

/** What a CPU is given. Memory is shared. */
export interface CpuOrder {
  ring: ArrayBuffer;
  area: ArrayBuffer;
  control: Int32Array;
  attr: ConstructorParameters<typeof SampleLayout>[0];
  options: Omit<AuxKernelOptions, 'layout' | 'wake' | 'wait'>;
}

/** Now and then long enough for a reader to come in between, as a rule not. */
const SPINS = 300;
const SLEEP_MS = 2;
const asleep = new Int32Array(new SharedArrayBuffer(4));

parentPort!.once('message', ({ ring, area, control, attr, options }: CpuOrder) => {
  const kernel = new AuxKernel(ring, area, control, {
    ...options,
    layout: new SampleLayout(attr),
    wake: () => parentPort!.postMessage(null),
    wait(random) {
      if (random.below(40) === 0) Atomics.wait(asleep, 0, 0, random.below(SLEEP_MS + 1));
      else for (let spins = random.below(SPINS); spins > 0; spins--) Atomics.load(control, ENDED);
    },
  });
  while (kernel.step()) {
    // The source is what ends.
  }
  Atomics.store(control, ENDED, 1);
  parentPort!.postMessage(kernel.history);
});
