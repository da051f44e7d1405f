import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { allOptions } from '../packages/node/src/cli/common/args.ts';
import { VERBS } from '../packages/node/src/cli/main.ts';

/** Flags of the page's tables, by what stands at the head of a column: `perf stat`, `counterpoint record`. */
function flagsOfPage(): { tool: string; flag: string }[] {
  const found: { tool: string; flag: string }[] = [];
  let heads: string[] = [];
  for (const line of readFileSync('docs/guide/perf-users.md', 'utf8').split('\n')) {
    const cells = line.startsWith('|')
      ? line
          .split('|')
          .slice(1, 3)
          .map((cell) => cell.trim())
      : [];
    if (cells.length === 0) heads = [];
    else if (heads.length === 0) heads = cells;
    else
      for (const [at, cell] of cells.entries())
        for (const [, words] of cell.matchAll(/`([^`]+)`/g)) {
          const flag = words!
            .split(' ')
            .find((word) => word.startsWith('-'))
            ?.split('=')[0];
          // In tables of several verbs the verb stands before its flag.
          const verb = /^[a-z]/.test(words!)
            ? words!.replace(/^(?:perf|counterpoint) /, '').split(' -')[0]
            : null;
          const tool = verb === null ? heads[at]! : `${at === 0 ? 'perf' : 'counterpoint'} ${verb}`;
          found.push({ tool, flag: flag ?? '' });
        }
  }
  return found;
}

const flags = flagsOfPage();

test('there are many', () => assert.ok(flags.length > 70, `${flags.length}`));

describe('the page names what there is here', () => {
  for (const { tool, flag } of flags.filter(({ tool }) => tool.startsWith('counterpoint ')))
    test(`${tool} ${flag}`, async () => {
      const verb = VERBS.find(({ name }) => name === tool.slice('counterpoint '.length));
      assert.ok(verb !== undefined);
      if (flag === '') return;
      const names = allOptions((await verb.load()).default).flatMap(({ long, short, negatable }) => [
        long.length === 1 ? `-${long}` : `--${long}`,
        `-${short}`,
        ...(negatable === true ? [`--no-${long}`] : []),
      ]);
      assert.ok(names.includes(flag));
    });
});

/** Verbs that Debian's perf does not have yet. */
const OF_NEWER_PERFS = new Set(['check']);

/** Options that perf takes, and does not list in its help: command lines that it answers. */
const HIDDEN = new Set(['perf list --raw-dump']);

const noPerf = spawnSync('perf', ['--version']).status !== 0 && 'needs perf';

describe('and what perf has', { skip: noPerf }, () => {
  const helps = new Map<string, string>();
  for (const { tool, flag } of flags.filter(
    ({ tool }) => tool.startsWith('perf ') && !OF_NEWER_PERFS.has(tool.split(' ')[1]!),
  ))
    test(`${tool} ${flag}`, () => {
      const verb = tool.split(' ')[1]!;
      if (HIDDEN.has(`${tool} ${flag}`)) {
        const { status, stdout } = spawnSync('perf', [verb, flag], { encoding: 'utf8' });
        assert.ok(status === 0 && stdout !== '');
        return;
      }
      if (!helps.has(verb)) {
        const { stdout, stderr } = spawnSync('perf', [verb, '-h'], { encoding: 'utf8' });
        helps.set(verb, stdout + stderr);
      }
      assert.ok(helps.get(verb)!.includes('Usage: perf'), `no perf ${verb}`);
      const plain = flag.replace('--no-', '--');
      if (flag !== '') assert.match(helps.get(verb)!, new RegExp(`(?:^|\\s|,)(?:${flag}|${plain})\\b`, 'm'));
    });
});
