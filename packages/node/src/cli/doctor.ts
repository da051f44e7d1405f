import { defineVerb, EXIT_FAILURE, EXIT_OK, UsageError } from './args.ts';

export default defineVerb({
  name: 'doctor',
  summary: 'say what this machine can record, and why not',
  usage: '[options]',
  options: [{ long: 'json', help: 'the answer as JSON' }],
  examples: [
    ['doctor', 'what works, what does not, and what to do about it'],
    ['doctor --json | jq .canRecord', 'for scripts; the exit status says the same'],
  ],
  async run({ args, out }) {
    if (args.words.length > 0) throw new UsageError(`it takes no arguments, not '${args.words[0]}'`);
    const [{ examineMachine }, { realSys }, { onlineCpus }] = await Promise.all([
      import('../probe/index.ts'),
      import('../sys/index.ts'),
      import('../target/index.ts'),
    ]);
    const examination = examineMachine(realSys, onlineCpus().length);
    const status = examination.canRecord ? EXIT_OK : EXIT_FAILURE;
    if (args.boolean('json')) {
      out.json(examination);
      return status;
    }
    const { green, yellow, red, bold } = out.style;
    const colors = { ok: green, absent: yellow, forbidden: red, unknown: yellow };
    const nameWidth = Math.max(...examination.checks.map(({ name }) => name.length));
    for (const { name, state, why, fix } of examination.checks) {
      out.line(`${name.padEnd(nameWidth)}  ${colors[state](state.padEnd('forbidden'.length))}  ${why}`);
      for (const line of fix === '' ? [] : fix.split('\n')) out.line(`${' '.repeat(nameWidth + 13)}${line}`);
    }
    out.line();
    out.line(
      bold(
        examination.canRecord
          ? 'Recording works: try counterpoint record -g -- COMMAND'
          : 'Recording does not work here yet: see above.',
      ),
    );
    return status;
  },
});
