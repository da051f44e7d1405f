import { defineVerb } from '../../common/args.ts';

export type ArchiveName = 'input' | 'output' | 'sources' | 'all' | 'unpack' | 'json';

export default defineVerb<ArchiveName>({
  name: 'archive',
  summary: 'put a recording and what names its samples into one file',
  usage: ['[options]', '[options] FILE', '--unpack FILE'],
  options: [
    {
      long: 'input',
      short: 'i',
      value: 'FILE',
      help: 'the recording (default perf.data)',
      group: 'Files',
    },
    {
      long: 'output',
      short: 'o',
      value: 'FILE',
      help: 'where to write (default: the name of the recording with .tar.gz); a name that ends in .tar is not compressed; - is standard output',
      group: 'Files',
    },
    {
      long: 'sources',
      help: 'also the source files that samples and their callers are in, as they are now',
      group: 'What is in it',
    },
    {
      long: 'all',
      help: 'also binaries that were mapped, and that no sample is in (always for hardware traces)',
      group: 'What is in it',
    },
    {
      long: 'unpack',
      value: 'FILE',
      help: "put the binaries of an archive, or of one that perf archive made, into perf's cache ~/.debug",
      group: 'Other way round',
    },
    { long: 'json', help: 'what was done, as JSON', group: 'Output' },
  ],
  examples: [
    ['archive', 'perf.data and what names it, as perf.data.tar.gz'],
    ['report -i perf.data.tar.gz', 'on any machine: no verb has to unpack it'],
    ['archive --sources -o hot.tar.gz -i hot.data', 'with the source code, for annotate'],
    ['archive --unpack perf.data.tar.bz2', 'for a recording that lies beside the archive'],
  ],
  async run(context) {
    const { runArchive } = await import('./run.ts');
    return runArchive(context);
  },
});
