import { didYouMean, nearestNames, printable } from '@counterpoint/core/base';
import { defineVerb, EXIT_FAILURE, EXIT_OK } from '../../common/args.ts';
import { UsageError } from '../../common/usage-error.ts';

type CheckName = 'quiet' | 'json';

export default defineVerb<CheckName>({
  name: 'check feature',
  summary: 'say whether this installation has a feature, for scripts',
  usage: '[options] FEATURE[,FEATURE]...',
  options: [
    { long: 'quiet', short: 'q', help: 'print nothing; the exit status says it', group: 'Output' },
    { long: 'json', help: 'as JSON, with how each feature is there', group: 'Output' },
  ],
  examples: [
    ['check feature zstd', "by perf's name of it, or by its macro (HAVE_ZSTD_SUPPORT)"],
    ['check feature -q zstd,debuginfod && echo both', 'status 0 if all are on, else 1'],
  ],
  async run({ args, out, err }) {
    const names = args.words.flatMap((word) => word.split(',')).filter((name) => name !== '');
    if (names.length === 0)
      throw new UsageError('no feature is named', 'counterpoint version --build-options lists them.');
    const { featureLine, features } = await import('./features.ts');
    const all = await features();
    const byName = new Map(
      all.flatMap((feature) => [
        [feature.name.toLowerCase(), feature] as const,
        [feature.macro.toLowerCase(), feature] as const,
      ]),
    );
    const found = [];
    let isWhole = true;
    for (const name of names) {
      const feature = byName.get(name.toLowerCase());
      isWhole &&= feature?.isOn === true;
      if (feature !== undefined) found.push(feature);
      else {
        const near = nearestNames(name, [...byName.keys()]);
        err.line(printable(`counterpoint check feature: there is no feature ${name}${didYouMean(near)}`));
      }
    }
    if (args.boolean('json')) out.json({ type: 'features', version: 1, features: found });
    else if (!args.boolean('quiet')) for (const feature of found) out.line(featureLine(feature));
    return isWhole ? EXIT_OK : EXIT_FAILURE;
  },
});
