/**
 * Facts of the Firefox Profiler's "processed profile" format (firefox-devtools/profiler:
 * src/types/profile.ts, src/profile-logic/processed-profile-versioning.ts). Imports nothing but types.
 */
import type { Family } from '../stacks/frame-labels.ts';

/**
 * The oldest version in which all threads share one set of tables (60) and sources have ids (61): our tables
 * as they are. The profiler upgrades older versions when it loads them, and refuses newer ones than it knows.
 */
export const PROCESSED_VERSION = 61;

/** The version of the unprocessed Gecko format of that time; readers only show it. */
export const GECKO_VERSION = 33;

export const RESOURCE_LIBRARY = 1;
export const RESOURCE_URL = 5;

export const PHASE_INSTANT = 0;
export const PHASE_INTERVAL = 1;

export const LOSS_MARKER = 'Loss';

/** The first grey category is the default one; subcategory 0 must be `Other`. */
export const CATEGORIES = [
  { name: 'Other', color: 'grey', subcategories: ['Other'] },
  { name: 'Native', color: 'blue', subcategories: ['Other'] },
  { name: 'Kernel', color: 'orange', subcategories: ['Other'] },
  {
    name: 'JavaScript',
    color: 'yellow',
    subcategories: ['Other', 'Interpreted', 'Baseline', 'Maglev', 'TurboFan'],
  },
  { name: 'JIT', color: 'green', subcategories: ['Other'] },
  { name: 'Inlined', color: 'lightblue', subcategories: ['Other'] },
  { name: 'Lost data', color: 'red', subcategories: ['Other'] },
] as const;

export const CATEGORY_OF: Readonly<Record<Family, number>> = {
  process: 0,
  unknown: 0,
  native: 1,
  kernel: 2,
  script: 3,
  jit: 4,
  inlined: 5,
};

export const CATEGORY_LOST = 6;

/** Subcategory of `JavaScript` for V8's tier marks. */
export const SUBCATEGORY_OF_TIER: Readonly<Record<string, number>> = {
  '': 0,
  '~': 1,
  '^': 2,
  '+': 3,
  '*': 4,
};

/** How losses look in the marker chart, the marker table and the timeline. */
export const MARKER_SCHEMA = [
  {
    name: LOSS_MARKER,
    display: ['marker-chart', 'marker-table', 'timeline-overview'],
    chartLabel: '{marker.data.words}',
    tooltipLabel: 'Lost data: {marker.data.words}',
    tableLabel: '{marker.data.words}',
    description: 'What the recording does not contain, where that is known.',
    fields: [
      { key: 'words', label: 'What', format: 'string' },
      { key: 'kind', label: 'Kind', format: 'string' },
      { key: 'event', label: 'Event', format: 'string' },
      { key: 'cpu', label: 'CPU', format: 'integer' },
      { key: 'exact', label: 'Exact', format: 'string' },
    ],
  },
];
