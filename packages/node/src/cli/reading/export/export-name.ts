import type { ItraceName } from '../../common/itrace-option.ts';
import type { JavascriptName } from '../../common/javascript-option.ts';
import type { InputName } from '../../common/recording-input.ts';
import type { SourceMapsName } from '../../common/source-maps-option.ts';

/** Options of the verb. */
export type ExportName =
  | InputName
  | SourceMapsName
  | ItraceName
  | JavascriptName
  | 'inline'
  | 'format'
  | 'output'
  | 'event'
  | 'binary'
  | 'calls'
  | 'weight'
  | 'title'
  | 'minimum-percent'
  | 'icicle';
