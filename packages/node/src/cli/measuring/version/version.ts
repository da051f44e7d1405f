import { defineVerb, EXIT_OK, refuseWords } from '../../common/args.ts';
import { packageVersion } from '../../common/version.ts';

type VersionName = 'build-options' | 'json';

export default defineVerb<VersionName>({
  name: 'version',
  summary: 'print the version, and what this installation can do',
  usage: '[options]',
  options: [
    { long: 'build-options', help: "which of perf's features are here, in perf's form", group: 'Version' },
    { long: 'json', help: 'as JSON, with how each feature is there', group: 'Version' },
  ],
  examples: [
    ['version', 'the version'],
    ['version --build-options', 'zstd, debuginfod, libpfm4, ...: on or off'],
  ],
  async run({ args, out }) {
    refuseWords(args);
    const version = packageVersion();
    const wantsFeatures = args.boolean('build-options') || args.boolean('verbose');
    if (!wantsFeatures && !args.boolean('json')) {
      out.line(`counterpoint ${version}`);
      return EXIT_OK;
    }
    const { featureLine, features } = await import('./features.ts');
    const found = await features();
    if (args.boolean('json')) {
      const { platform, arch, versions } = process;
      const answer = { counterpoint: version, node: versions.node, platform, arch, features: found };
      out.json({ type: 'version', version: 1, ...answer });
      return EXIT_OK;
    }
    out.line(`counterpoint ${version}`);
    for (const feature of found) out.line(featureLine(feature));
    return EXIT_OK;
  },
});
