import { CounterpointError } from '@counterpoint/core/base';
import { defineVerb } from './args.ts';

export default defineVerb({
  name: 'doctor',
  summary: 'say what this machine can record, and why not',
  usage: '[options]',
  options: [],
  examples: [],
  run() {
    throw new CounterpointError('ERR_NOT_AVAILABLE', 'this version cannot do that yet');
  },
});
