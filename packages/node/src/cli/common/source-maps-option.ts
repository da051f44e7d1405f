import type { OptionRow } from './option-row.ts';
import type { ParsedArguments } from './parsed-arguments.ts';

export type SourceMapsName = 'source-maps';

export const SOURCE_MAPS_OPTION: OptionRow<SourceMapsName> = {
  long: 'source-maps',
  negatable: true,
  help: 'show functions and lines of JavaScript as their sources have them, such as those of a .ts file, where source maps tell it (default), and mark the others as `(generated)`; --no-source-maps: those of the code that ran',
  group: 'Rows',
};

/** For questions to a recording. */
export function sourceMapsOf(args: Pick<ParsedArguments<SourceMapsName>, 'boolean'>): {
  sourceMaps: boolean;
} {
  return { sourceMaps: args.boolean('source-maps', true) };
}
