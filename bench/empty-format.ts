/** A format that does nothing at an overflow: what the interrupt costs by itself. */
import type { SamplingFormat } from '../packages/node/src/linux/sample/formats/index.ts';

const empty: SamplingFormat = {
  name: 'empty',
  version: 1,
  summary: 'nothing',
  options: {},
  plan: () => ({}),
  onOverflow: (asm) => asm.dropRecord(),
  async *collect() {},
};

export default empty;
