import { defineVerb } from '../../common/args.ts';

export type BuildIdCacheName =
  | 'add'
  | 'remove'
  | 'purge'
  | 'purge-all'
  | 'update'
  | 'list'
  | 'missing'
  | 'trim'
  | 'force'
  | 'json';

export default defineVerb<BuildIdCacheName>({
  name: 'buildid-cache',
  summary: 'keep binaries by build id, so that old recordings have names',
  usage: '[options]',
  options: [
    { long: 'list', short: 'l', help: 'list what is in the cache: build id and path', group: 'Look' },
    {
      long: 'missing',
      short: 'M',
      value: 'FILE',
      help: 'list the binaries of this recording that are not in the cache',
      group: 'Look',
    },
    { long: 'json', help: 'as JSON', group: 'Look' },
    {
      long: 'add',
      short: 'a',
      value: 'FILE,...',
      repeat: true,
      help: 'put these binaries into the cache',
      group: 'Change',
    },
    {
      long: 'update',
      short: 'u',
      value: 'FILE,...',
      repeat: true,
      help: 'put them into the cache in place of those with the same build id',
      group: 'Change',
    },
    {
      long: 'remove',
      short: 'r',
      value: 'FILE,...',
      repeat: true,
      help: 'remove the binaries that have the build ids of these files',
      group: 'Change',
    },
    {
      long: 'purge',
      short: 'p',
      value: 'PATH,...',
      repeat: true,
      help: 'remove all binaries that were at these paths, whatever their build ids are',
      group: 'Change',
    },
    { long: 'purge-all', short: 'P', help: 'remove all binaries', group: 'Change' },
    {
      long: 'trim',
      value: 'SIZE',
      help: 'remove files until at most SIZE is left, such as 500M, beginning with those that were not used for the longest time',
      group: 'Change',
    },
    { long: 'force', short: 'f', help: 'accepted for perf', hidden: true },
  ],
  examples: [
    ['buildid-cache -l', 'what is kept in ~/.debug, or $PERF_BUILDID_DIR'],
    ['buildid-cache -a ./program', 'keep it before it is rebuilt or stripped'],
    ['buildid-cache -M old.data', 'which binaries of a recording are not kept'],
    ['buildid-cache --trim 1G', 'make room'],
  ],
  async run(context) {
    const { runBuildIdCache } = await import('./buildid-cache-run.ts');
    return runBuildIdCache(context);
  },
});
