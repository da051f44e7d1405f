import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Profile } from '../../profile/tables/index.ts';
import { smallProfile } from '../../test/example-profile.ts';
import { programName, recordedCommand } from './program.ts';

function named(...words: string[]): [string, string] {
  const profile = smallProfile();
  profile.meta.commandLine = words;
  profile.meta.hostname = 'web1';
  return [programName(profile, 0), recordedCommand(profile).join(' ')];
}

test('what was recorded is told from what recorded', () => {
  assert.deepEqual(named('/usr/bin/perf', 'record', '-g', '--', '/bin/ls', '-l'), ['ls', '/bin/ls -l']);
  assert.deepEqual(named('perf_6.1', 'record', 'ls', '-la'), ['node', 'perf_6.1 record ls -la']);
  assert.deepEqual(named('counterpoint', 'record', '--'), ['node', 'counterpoint record --']);
  // What a command beside them does only says for how long.
  for (const target of [
    ['-p', '123'],
    ['-p123'],
    ['-F', '99', '-gt', '5'],
    ['--pid=123'],
    ['--pid', '123'],
  ]) {
    const words = ['counterpoint', 'record', ...target, '--', 'sleep', '5'];
    assert.deepEqual(named(...words), ['node', words.join(' ')]);
  }
  // Of a machine, its name.
  assert.deepEqual(named('perf', 'record', '-F', '99', '-a', 'sleep', '1')[0], 'all CPUs of web1');
  assert.deepEqual(named('counterpoint', 'record', '-ag', '--', 'sleep', '1')[0], 'all CPUs of web1');
  assert.deepEqual(named('counterpoint', 'record', '-C0-3', '--', 'sleep', '1')[0], 'CPUs of web1');
  assert.deepEqual(named('counterpoint', 'record', '--all-cpus')[0], 'all CPUs of web1');
  for (const options of [
    ['-o', '-a'],
    ['-e', 'cpu-clock'],
    ['-F99', '-g'],
    ['-oap'],
    ['--all-user'],
    ['-mp'],
    ['-gN'],
  ])
    assert.equal(named('perf', 'record', ...options, '--', 'ls')[0], 'ls', options.join(' '));
  assert.deepEqual(named('/opt/app/server', '--', 'x'), ['server', '/opt/app/server -- x']);
  assert.deepEqual(named(), ['node', '']);
  assert.equal(programName(new Profile(), 0), 'Profile');
});
