import { createWriteStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { printable } from '@counterpoint/core/base';
import { type BuildIdEntry, openPerfData } from '@counterpoint/core/perfdata';
import { passingFile } from '../../../host/leftovers/index.ts';
import { type FileSource, openFileSource } from '../../../host/locate/index.ts';
import { EXIT_OK, type VerbContext } from '../../common/args.ts';
import { UsageError } from '../../common/usage-error.ts';
import { missingBuildIds } from './build-ids.ts';
import { copyRecording } from './copy-recording.ts';
import { decompressRecording } from './decompress.ts';
import type { InjectName } from './inject.ts';
import { openInjected } from './output.ts';
import { mergeSchedStat } from './sched-stat.ts';

type Context = VerbContext<InjectName>;

export async function runInject(context: Context): Promise<number> {
  const { args, err } = context;
  const [input = '-', ...more] = [...args.all('input'), ...args.words];
  if (more.length > 0) throw new UsageError(`one recording at a time, not ${more.length + 1}`);
  const wantsBuildIds = args.boolean('build-ids') || args.boolean('buildid-all');
  const wantsWaits = args.boolean('sched-stat');
  const { source, done } = await openInput(input);
  try {
    const buildIds: BuildIdEntry[] = wantsBuildIds
      ? await missingBuildIds(source, { all: args.boolean('buildid-all') })
      : [];
    if (args.boolean('verbose'))
      for (const { buildId, path } of buildIds) err.line(printable(`adds ${buildId} ${path}`));
    const path = args.string('output', '-');
    const output = await openInjected(path, input, context.out);
    try {
      if (wantsWaits) await mergeSchedStat(source, output, buildIds);
      else if (!wantsBuildIds) await decompressRecording(source, output);
      else await copyRecording(source, output, buildIds);
      output.finish();
    } catch (error) {
      output.abandon();
      throw error;
    }
    return EXIT_OK;
  } finally {
    await done();
  }
}

/** A stream is kept in a file: it is read twice, once to see what is missing. */
async function openInput(path: string): Promise<{ source: FileSource; done(): Promise<void> }> {
  if (path !== '-') {
    const source = await openFileSource(path);
    return { source, done: () => source.close() };
  }
  await using kept = await passingFile('inject');
  await pipeline(process.stdin, createWriteStream(kept.path));
  const source = await openFileSource(kept.path);
  try {
    // It says what is wrong with it before there is any output.
    await openPerfData(source);
  } catch (error) {
    await source.close();
    throw error;
  }
  return { source, done: () => source.close() };
}
