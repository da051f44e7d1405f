import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Profile } from '../profile/index.ts';
import { smallProfile } from '../test/example-profile.ts';
import { programName, recordedCommand } from './program.ts';

function named(...words: string[]): [string, string] {
  const profile = smallProfile();
  profile.meta.commandLine = words;
  return [programName(profile, 0), recordedCommand(profile).join(' ')];
}

test('what was recorded is told from what recorded', () => {
  assert.deepEqual(named('/usr/bin/perf', 'record', '-g', '--', '/bin/ls', '-l'), ['ls', '/bin/ls -l']);
  assert.deepEqual(named('perf_6.1', 'record', '-a', 'sleep', '1'), ['node', 'perf_6.1 record -a sleep 1']);
  assert.deepEqual(named('counterpoint', 'record', '--'), ['node', 'counterpoint record --']);
  assert.deepEqual(named('/opt/app/server', '--', 'x'), ['server', '/opt/app/server -- x']);
  assert.deepEqual(named(), ['node', '']);
  assert.equal(programName(new Profile(), 0), 'Profile');
});
