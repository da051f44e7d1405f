import { statSync } from 'node:fs';
import { printable } from '@counterpoint/core/base';
import type { Kept } from '../../../host/build-id-cache/index.ts';
import type { ParsedArguments } from '../../common/parsed-arguments.ts';
import type { RecordName } from './record.ts';

export interface Keeping {
  readonly kept: Kept;
  /** Of the whole cache, in bytes; undefined: no limit, as perf. */
  readonly mostBytes: number | undefined;
}

/** Null where nothing is kept: asked for, or without build ids to keep it by. */
export function keepingOptions(args: ParsedArguments<RecordName>): Keeping | null {
  const kept = args.choice('keep', ['none', 'symbols', 'binaries'], 'binaries');
  const mostBytes = args.sizeBytes('cache-size', { min: 1 });
  const isOff = args.boolean('no-buildid-cache') || args.boolean('no-buildid');
  return kept === 'none' || isOff ? null : { kept, mostBytes };
}

/** At the end of `record`: the binaries that samples are in go into the cache. Never a reason to fail. */
export async function keepWhatNames(
  paths: readonly string[],
  keeping: Keeping | null,
  say: (text: string) => void,
): Promise<void> {
  const files = paths.filter((path) => statSync(path, { throwIfNoEntry: false })?.isFile() === true);
  if (keeping === null || files.length === 0) return;
  const [{ BuildIdCache, keepBinaries }, { openFileSource }] = await Promise.all([
    import('../../../host/build-id-cache/index.ts'),
    import('../../../host/locate/index.ts'),
  ]);
  const cache = new BuildIdCache();
  const failed = new Map<string, string>();
  for (const path of files) {
    try {
      const source = await openFileSource(path);
      try {
        for (const one of (await keepBinaries(source, cache, keeping.kept)).failed)
          failed.set(one.path, one.why);
      } finally {
        await source.close();
      }
    } catch (error) {
      failed.set(path, (error as Error).message);
    }
  }
  for (const [path, why] of failed) say(printable(`counterpoint record: not kept: ${path}: ${why}`));
  if (keeping.mostBytes !== undefined) cache.trim(keeping.mostBytes);
}
