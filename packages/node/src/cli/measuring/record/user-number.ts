import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import type { ParsedArguments } from '../../common/parsed-arguments.ts';
import { UsageError } from '../../common/usage-error.ts';

const MOST_USERS = 2 ** 32 - 1;

/** The number of the user that `--uid` names, or is. */
export async function userNumber(args: Pick<ParsedArguments<'uid'>, 'string' | 'shown'>): Promise<number> {
  const name = args.string('uid')!;
  if (/^\d+$/.test(name) && Number(name) <= MOST_USERS) return Number(name);
  const number = userIn(localUsers(), name) ?? userIn(await networkUser(name), name);
  if (number !== null) return number;
  throw new UsageError(
    `${args.shown('uid')}: there is no user '${name}'`,
    'Give the name or the number of one: getent passwd lists them.',
  );
}

/** `name:password:uid:...`, a line each (passwd(5)). */
function userIn(passwd: string, name: string): number | null {
  const fields = passwd
    .split('\n')
    .map((line) => line.split(':'))
    .find(([first]) => first === name);
  return fields === undefined ? null : Number(fields[2]);
}

function localUsers(): string {
  try {
    return readFileSync('/etc/passwd', 'utf8');
  } catch {
    return '';
  }
}

/** Where users are kept elsewhere, too (nsswitch.conf). */
async function networkUser(name: string): Promise<string> {
  try {
    return (await promisify(execFile)('getent', ['passwd', '--', name])).stdout;
  } catch {
    return '';
  }
}
