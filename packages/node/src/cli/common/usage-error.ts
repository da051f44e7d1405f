import { CounterpointError } from '@counterpoint/core/base';

/** The command line itself is wrong: exit 129. */
export class UsageError extends CounterpointError {
  constructor(message: string, remedy = '') {
    super('ERR_USAGE', message, remedy);
    this.name = 'UsageError';
  }
}
