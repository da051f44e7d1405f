import { CounterpointError } from '@counterpoint/core/base';
import { defineVerb } from './args.ts';

export default defineVerb({
  name: 'script',
  summary: 'print every sample of a recording',
  usage: '[options]',
  options: [],
  examples: [],
  run() {
    throw new CounterpointError('ERR_NOT_AVAILABLE', 'this version cannot do that yet');
  },
});
