import { CounterpointError } from '@counterpoint/core/base';
import type { SoftCounts } from './soft-counts.ts';

const NAMES = ['instructions', 'branches', 'cond', 'calls'] as const;
export type SoftEventName = (typeof NAMES)[number];

export interface SoftEvent {
  /** As it was asked for, such as `soft/branches/`. */
  requestedName: string;
  name: SoftEventName;
}

const SOFT = /^soft\/([^/]*)\/u?$/;

/** The events, `null` when none of them is a soft one. */
export function parseSoftEvents(list: readonly string[]): SoftEvent[] | null {
  const texts = list.flatMap((text) => text.split(',')).map((text) => text.trim());
  const soft = texts.filter((text) => text.startsWith('soft/'));
  if (soft.length === 0) return null;
  const other = texts.find((text) => !text.startsWith('soft/'));
  if (other !== undefined)
    throw new CounterpointError(
      'ERR_SOFT_EVENT',
      `'${other}' cannot be counted together with '${soft[0]}': stepping makes the target thousands of times slower`,
      'Count them in a second run.',
    );
  return texts.map((requestedName) => {
    const name = NAMES.find((known) => known === SOFT.exec(requestedName)?.[1]);
    if (name === undefined)
      throw new CounterpointError(
        'ERR_SOFT_EVENT',
        `there is no event '${requestedName}'`,
        `Use one of ${NAMES.map((known) => `soft/${known}/`).join(', ')}; user space only (u) is the only modifier.`,
      );
    return { requestedName, name };
  });
}

export function countOf(counts: SoftCounts, name: SoftEventName): number {
  switch (name) {
    case 'instructions':
      return counts.instructions;
    case 'branches':
      return counts.branches;
    case 'cond':
      return counts.conditional;
    case 'calls':
      return counts.calls;
  }
}
