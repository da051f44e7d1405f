import { ARMV8_EVENTS } from './armv8-facts.ts';
import { ARMV8_RECOMMENDED_ROWS } from './generated/facts.ts';

/**
 * Arm ARM, "Recommended IMPLEMENTATION DEFINED events": a core need not have them, so they are in no model;
 * tables name them without their code.
 */
export const ARMV8_RECOMMENDED = ARMV8_RECOMMENDED_ROWS;

export interface StandardEvent {
  readonly name: string;
  readonly code: bigint;
  readonly description: string;
}

/** Events by the manual's name, for tables that only name them (`ArchStdEvent`). */
export const ARM_STANDARD_EVENTS: ReadonlyMap<string, StandardEvent> = new Map([
  ...ARMV8_EVENTS.map(({ vendorName, terms, description }) => entry(vendorName!, terms[0]![1], description)),
  ...ARMV8_RECOMMENDED.map(([code, name]) =>
    entry(name, BigInt(code), 'An event that the Armv8 architecture recommends, see its manual.'),
  ),
]);

function entry(name: string, code: bigint, description: string): readonly [string, StandardEvent] {
  return [name, { name, code, description }];
}
