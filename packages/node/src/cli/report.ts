import { CounterpointError } from '@counterpoint/core/base';
import { defineVerb } from './args.ts';

export default defineVerb({
  name: 'report',
  summary: 'show where the samples of a recording fell',
  usage: '[options]',
  options: [],
  examples: [],
  run() {
    throw new CounterpointError('ERR_NOT_AVAILABLE', 'this version cannot do that yet');
  },
});
