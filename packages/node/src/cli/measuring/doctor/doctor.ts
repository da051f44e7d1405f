import type { Check } from '../../../linux/kernel/probe/index.ts';
import { defineVerb, EXIT_FAILURE, EXIT_OK, refuseWords } from '../../common/args.ts';
import type { Output } from '../../common/output.ts';

export default defineVerb({
  name: 'doctor',
  needsLinux: true,
  summary: 'say what this machine can record and count, and why not',
  usage: '[options]',
  options: [{ long: 'json', help: 'the answer as JSON, with every check and its facts' }],
  examples: [
    ['doctor', 'what works, what does not, and what to do about it'],
    ['doctor -v', 'also what works, in detail: each PMU, limits, clocks'],
    ['doctor --json | jq .canRecord', 'for scripts; the exit status says the same'],
  ],
  async run({ args, out }) {
    refuseWords(args);
    const { examineEverything } = await import('./examine.ts');
    const examination = await examineEverything();
    const status = examination.canRecord ? EXIT_OK : EXIT_FAILURE;
    if (args.boolean('json')) {
      out.json(examination);
      return status;
    }
    const isVerbose = args.boolean('verbose');
    const shown = examination.checks.filter((check) => isVerbose || isWorthALine(check));
    writeChecks(out, shown, isVerbose);
    const hidden = examination.checks.length - shown.length;
    out.line();
    if (hidden > 0) out.line(`${hidden} more: counterpoint doctor -v shows them`);
    out.line(
      out.style.bold(
        examination.canRecord
          ? 'Recording works: try counterpoint record -g -- COMMAND'
          : 'Recording does not work here yet: see above.',
      ),
    );
    return status;
  },
});

/**
 * No gap is hidden, and nothing that can be bettered. What follows from another check and
 * cannot be helped is a detail.
 */
function isWorthALine({ state, fix, isDetail }: Check): boolean {
  return isDetail !== true || (state !== 'ok' && fix !== '');
}

function writeChecks(out: Output, checks: readonly Check[], isVerbose: boolean): void {
  const { green, yellow, red } = out.style;
  const colors = { ok: green, absent: yellow, forbidden: red, unknown: yellow };
  const nameWidth = Math.max(...checks.map(({ name }) => name.length));
  const stateWidth = 'forbidden'.length;
  const indent = ' '.repeat(nameWidth + stateWidth + 4);
  for (const { name, state, why, fix, more = [] } of checks) {
    out.line(`${name.padEnd(nameWidth)}  ${colors[state](state.padEnd(stateWidth))}  ${why}`);
    const lines = [...(isVerbose ? more : []), ...(fix === '' ? [] : fix.split('\n'))];
    for (const line of lines) out.line(`${indent}${line}`);
  }
}
