import { CounterpointError } from '@counterpoint/core/base';
import { defineVerb } from './args.ts';

export default defineVerb({
  name: 'record',
  summary: 'sample a program or running processes into a perf.data file',
  usage: '[options]',
  options: [],
  examples: [],
  run() {
    throw new CounterpointError('ERR_NOT_AVAILABLE', 'this version cannot do that yet');
  },
});
