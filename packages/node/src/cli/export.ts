import { CounterpointError } from '@counterpoint/core/base';
import { defineVerb } from './args.ts';

export default defineVerb({
  name: 'export',
  summary: 'turn a recording into a flame graph or the format of another tool',
  usage: '[options]',
  options: [],
  examples: [],
  run() {
    throw new CounterpointError('ERR_NOT_AVAILABLE', 'this version cannot do that yet');
  },
});
