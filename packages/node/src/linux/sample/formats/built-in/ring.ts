import { defineFormat } from '../format.ts';

/** The kernel's own records, as without a format. */
export default defineFormat({
  name: 'ring',
  version: 1,
  summary: "perf's own records, one for each overflow (the default)",
  options: {},
  history: {},
  plan: () => ({}),
  async *collect() {},
});
