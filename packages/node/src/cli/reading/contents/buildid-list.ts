import { endianness } from 'node:os';
import { printable } from '@counterpoint/core/base';
import { defineVerb, EXIT_FAILURE, EXIT_OK, refuseWords } from '../../common/args.ts';
import type { Output } from '../../common/output.ts';
import { INPUT_OPTIONS, inputName } from '../../common/recording-input.ts';

type BuildIdName = 'input' | 'kernel' | 'json';

export default defineVerb<BuildIdName>({
  name: 'buildid-list',
  summary: 'list the binaries of a recording with their build ids',
  usage: ['[options]', '[options] FILE'],
  options: [
    { ...INPUT_OPTIONS.find(({ long }) => long === 'input')!, long: 'input' },
    { long: 'kernel', short: 'k', help: 'the build id of the kernel that runs here', group: 'Binaries' },
    { long: 'json', help: 'as JSON', group: 'Binaries' },
  ],
  examples: [
    ['buildid-list', 'build id and path of each binary of perf.data'],
    ['buildid-list --kernel', 'of the kernel that runs'],
  ],
  async run({ args, out, err }) {
    if (args.boolean('kernel')) {
      refuseWords(args);
      return await printKernel(args.boolean('json'), out, err);
    }
    const { openRecording } = await import('../../../host/open/index.ts');
    await using recording = await openRecording(inputName(args));
    const reader = await recording.reader();
    const { recordedBuildIds } = await import('./recorded-build-ids.ts');
    const mapped = await recordedBuildIds(reader);
    const binaries = [...mapped].map(([path, buildId]) => ({ buildId, path }));
    if (args.boolean('json')) out.json({ type: 'build-ids', version: 1, binaries });
    else for (const { buildId, path } of binaries) out.line(printable(`${buildId} ${path}`));
    if (binaries.length === 0 && !args.boolean('json'))
      err.line('The recording has no build ids: it was made with --no-buildid (-B), or was cut off.');
    return EXIT_OK;
  },
});

async function printKernel(asJson: boolean, out: Output, err: Output): Promise<number> {
  const { readFile } = await import('node:fs/promises');
  const { buildIdOfNotes } = await import('@counterpoint/core/elf');
  const notes = await readFile('/sys/kernel/notes').catch(() => null);
  const buildId = notes === null ? '' : buildIdOfNotes(new Uint8Array(notes), endianness() === 'LE');
  if (buildId === '') {
    err.line('counterpoint buildid-list: /sys/kernel/notes cannot be read here, or has no build id.');
    return EXIT_FAILURE;
  }
  if (asJson) out.json({ type: 'build-ids', version: 1, binaries: [{ buildId, path: '[kernel.kallsyms]' }] });
  else out.line(buildId);
  return EXIT_OK;
}
