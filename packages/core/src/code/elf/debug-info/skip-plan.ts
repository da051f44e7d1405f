/**
 * Going over entries: most of a unit's bytes are types and variables, which nobody asks about here. Each kind
 * of entry gets a plan once, with the sizes of neighbours added up:
 *
 *     name strp, file data1, line data2, type ref4, location exprloc, external flag_present
 *     4        + 1         + 2         + 4        , BLOCK            (nothing)
 */
import type { DwarfCursor } from '../dwarf/dwarf-cursor.ts';
import {
  DW_AT_SIBLING,
  DW_FORM_BLOCK,
  DW_FORM_EXPRLOC,
  DW_FORM_INDIRECT,
  DW_FORM_REF4,
  DW_FORM_STRING,
} from '../dwarf/dwarf-facts.ts';
import { fixedSizeOf, isLebForm, skipForm, type UnitFormat } from '../dwarf/skip-form.ts';

/** How the entries of one kind are written: which attributes they have, and in which forms. */
export interface Abbreviation {
  readonly tag: number;
  readonly hasChildren: boolean;
  /** Attribute, form, and the value where the form has it here (DW_FORM_implicit_const), in threes. */
  readonly attributes: readonly number[];
}

/** Steps from 0 on: a number of bytes. */
const LEB = -1;
const STRING = -2;
const BLOCK = -3;
/** Any other form: the next step is its number. */
const FORM = -4;

export interface SkipPlan {
  readonly steps: readonly number[];
  /** The steps before the place where the next entry beside this one is told; null where it is not. */
  readonly stepsToSibling: readonly number[] | null;
  readonly format: UnitFormat;
}

export function skipPlan({ attributes }: Abbreviation, format: UnitFormat): SkipPlan {
  const steps: number[] = [];
  let stepsToSibling: number[] | null = null;
  for (let at = 0; at < attributes.length; at += 3) {
    const form = attributes[at + 1]!;
    if (attributes[at] === DW_AT_SIBLING && form === DW_FORM_REF4) stepsToSibling = [...steps];
    const size = fixedSizeOf(form, format);
    if (size !== null && size > 0 && steps.length > 0 && steps.at(-1)! > 0) steps[steps.length - 1]! += size;
    else if (size !== null && size > 0) steps.push(size);
    else if (size === null && isLebForm(form)) steps.push(LEB);
    else if (form === DW_FORM_STRING) steps.push(STRING);
    else if (form === DW_FORM_BLOCK || form === DW_FORM_EXPRLOC) steps.push(BLOCK);
    // A number that follows a form is no size.
    else if (size === null) steps.push(FORM, -form);
  }
  return { steps, stepsToSibling, format };
}

/** Goes behind an entry whose code has been read. */
export function skipEntry(cursor: DwarfCursor, { steps, format }: SkipPlan): void {
  goOver(cursor, steps, format);
}

/** Where the next entry beside this one is, in the unit's terms; -1 where it is not told. */
export function siblingOf(cursor: DwarfCursor, { stepsToSibling, format }: SkipPlan): number {
  if (stepsToSibling === null) return -1;
  goOver(cursor, stepsToSibling, format);
  return cursor.u32();
}

function goOver(cursor: DwarfCursor, steps: readonly number[], format: UnitFormat): void {
  for (let place = 0; place < steps.length; place++) {
    const step = steps[place]!;
    if (step >= 0) cursor.skip(step);
    else if (step === LEB) cursor.skipLeb();
    else if (step === STRING) cursor.skipString();
    else if (step === BLOCK) cursor.skip(cursor.uleb());
    else skipAnyForm(cursor, -steps[++place]!, format);
  }
}

/** As `skipForm`, and where the form itself is written before the value. */
export function skipAnyForm(cursor: DwarfCursor, form: number, format: UnitFormat): void {
  skipForm(cursor, form === DW_FORM_INDIRECT ? cursor.uleb() : form, format);
}
