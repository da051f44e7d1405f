/** `--pid=$PID` without a PID is a mistake, and not everybody: of every option of every verb. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { countRun } from '../linux/count/stat/index.ts';
import { LiveProfile, record } from '../linux/sample/record/index.ts';
import { counterpoint } from '../test/command-line.ts';
import { parseArguments } from './common/parse.ts';
import { UsageError } from './common/usage-error.ts';
import { VERBS } from './main.ts';

/** What an empty value says is known of these. */
const MAY_BE_EMPTY: readonly string[] = ['export title', 'pt calls title', 'pt flow pevent:sysroot'];

const CHAINS = fileURLToPath(new URL('../../../../fixtures/perfdata/call-chains.data', import.meta.url));

describe('an empty value', () => {
  for (const { name, load } of VERBS)
    test(`${name}: of any option`, async () => {
      const { default: verb } = await load();
      for (const { long, short, value, mayBeEmpty } of verb.options) {
        if (value === undefined) continue;
        const forms = [long.length === 1 ? [`-${long}`, ''] : [`--${long}=`]];
        if (short !== undefined && short !== long) forms.push([`-${short}`, '']);
        for (const words of forms) {
          if (mayBeEmpty === true) assert.doesNotThrow(() => parseArguments(verb, words));
          // The word behind an optional value is another one.
          else if (words.length === 1 || !verb.options.some((row) => row.long === long && row.optionalValue))
            assert.throws(() => parseArguments(verb, words), UsageError, `${name} ${words.join(' ')}`);
        }
        assert.equal(mayBeEmpty === true, MAY_BE_EMPTY.includes(`${name} ${long}`), long);
      }
    });

  for (const words of [
    ['report', '--pid=', '-i', CHAINS],
    ['report', '--pid', ',', '-i', CHAINS],
    ['report', '--comms=,', '-i', CHAINS],
    ['report', '--symbols=,', '-i', CHAINS],
    ['script', '--tid= , ', '-i', CHAINS],
    ['export', '--cpu=', '-i', CHAINS],
    ['record', '-p', '', 'true'],
    ['record', '-t,', 'true'],
    ['record', '-e', '', 'true'],
    ['top', '--once', '-p', ','],
    ['top', '--once', '--comms='],
    ['stat', '--for-each-cgroup=,', '-e', 'page-faults'],
    ['stat', '-C', '', 'true'],
  ])
    test(`${words.filter((word) => word !== CHAINS).join(' ')}: refused, with what to do`, async () => {
      const { status, err } = await counterpoint(...words);
      assert.equal(status, 129, err);
      assert.match(err, /has an empty value|expects/);
    });

  test('the library: an empty list is nobody', async () => {
    for (const list of [{ pids: [] }, { tids: [] }]) {
      await assert.rejects(record({ ...list, command: ['true'] }), { code: 'ERR_NO_TARGET' });
      await assert.rejects(LiveProfile.open(list), { code: 'ERR_NO_TARGET' });
    }
    const scope = { kind: 'cpus', cgroups: [] } as const;
    const control = { sets: [{ name: 'a', events: 'page-faults' }] };
    await assert.rejects(countRun({ scope, control, timeoutMs: 1 }), { code: 'ERR_NO_TARGET' });
  });
});
