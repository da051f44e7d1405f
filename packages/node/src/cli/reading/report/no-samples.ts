import type { Recording } from '../../../host/open/index.ts';

/** What `report` says of a recording without samples, and why there are none where the file tells it. */
export async function noSamplesText(recording: Recording): Promise<string> {
  const { features } = await recording.reader();
  const words = features.commandLine ?? [];
  const own = words.includes('--') ? words.slice(0, words.indexOf('--')) : words;
  if (!own.some((word) => word === '--format' || word.startsWith('--format='))) return 'No samples.';
  return (
    'No samples: the sampling format kept none. `record` printed its results at the end. ' +
    'A format keeps samples, too, if its handler calls asm.keepRecord().'
  );
}
