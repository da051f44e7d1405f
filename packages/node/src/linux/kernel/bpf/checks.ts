/** What the functions of this room are given, where programs without types call them. */
import { checkArgument } from '@counterpoint/core/base';
import { hasMembers } from '../../../host/options/index.ts';
import { isMapDefinition } from './operand-checks.ts';

const ASSEMBLED = 'Give what assemble() of a BpfAssembler gives.';
const isBytes = (value: unknown) => value instanceof Uint8Array;

/** For what looks at instructions alone. */
export function checkInstructions(where: string, program: unknown): void {
  const isRight = isBytes((program as { instructions?: unknown } | null | undefined)?.instructions);
  checkArgument(isRight, where, 'the program', program, 'an assembled program', ASSEMBLED);
}

export function checkProgram(where: string, program: unknown, name = 'the program'): void {
  const members = {
    name: 'string',
    type: 'string',
    license: 'string',
    maps: 'object',
    mapReferences: 'object',
  };
  const isRight =
    hasMembers(program, members) && isBytes((program as { instructions?: unknown }).instructions);
  checkArgument(isRight, where, name, program, 'an assembled program', ASSEMBLED);
}

export function checkPrograms(where: string, programs: unknown): void {
  const isList = Array.isArray(programs);
  checkArgument(isList, where, 'the programs', programs, 'a list of assembled programs', ASSEMBLED);
  (programs as unknown[]).forEach((program, index) => {
    checkProgram(where, program, `programs[${index}]`);
  });
}

export function checkLoaded(where: string, program: unknown): void {
  const members = { program: 'object', fd: 'object', info: 'function' };
  const remedy = "Give a program of the set that loadPrograms() gives: set.program('name').";
  checkArgument(members, where, 'the program', program, 'a loaded program', remedy);
}

export function checkDescriptor(where: string, name: string, descriptor: unknown): void {
  const remedy = 'Give a descriptor, such as the `fd` of a map or a program.';
  checkArgument(
    { number: 'number', close: 'function' },
    where,
    name,
    descriptor,
    'an open descriptor',
    remedy,
  );
}

export function checkRingMap(where: string, map: unknown): void {
  const isRing =
    hasMembers(map, { definition: 'object', fd: 'object' }) &&
    (map as { definition: { type?: unknown } }).definition?.type === 'ring-buffer';
  const remedy = "Give a map of the set that loadPrograms() gives: set.map('name').";
  checkArgument(isRing, where, 'the map', map, 'a loaded map of the type ring-buffer', remedy);
}

export const isMapList = (value: unknown): boolean => Array.isArray(value) && value.every(isMapDefinition);

export function checkIndex(where: string, index: unknown): void {
  const isRight = Number.isInteger(index) && (index as number) >= 0 && (index as number) < 2 ** 32;
  checkArgument(isRight, where, 'the index', index, 'a whole number from 0');
}

export function checkText(where: string, name: string, text: unknown): void {
  checkArgument(typeof text === 'string', where, name, text, 'text');
}

/** A function that is called back. */
export function checkCallback(where: string, name: string, callback: unknown): void {
  checkArgument(typeof callback === 'function', where, name, callback, 'a function');
}
