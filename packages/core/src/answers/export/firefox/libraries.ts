import type { Binary } from '../../../profile/tables/index.ts';

export interface Library {
  arch: string;
  name: string;
  path: string;
  debugName: string;
  debugPath: string;
  breakpadId: string;
  codeId: string | null;
}

export function libraryOf(binary: Binary, arch: string | null): Library {
  return {
    arch: arch ?? '',
    name: binary.name,
    path: binary.path,
    debugName: binary.name,
    debugPath: binary.path,
    breakpadId: breakpadId(binary.buildId),
    codeId: binary.buildId === '' ? null : binary.buildId,
  };
}

/**
 * Breakpad's identifier of an ELF file: the first 16 bytes of the build id read as a little-endian
 * GUID, upper case, and an age of 0.
 *
 *   build id    d3e4c2a1 b8f6 1234 9abc def012345678 …
 *   breakpad id A1C2E4D3 F6B8 3412 9ABC DEF012345678 0
 */
export function breakpadId(buildId: string): string {
  const hex = /^[0-9a-f]*$/i.test(buildId) ? buildId.toUpperCase().padEnd(32, '0') : '0'.repeat(32);
  const reversed = (from: number, to: number) => (hex.slice(from, to).match(/../g) ?? []).reverse().join('');
  return `${reversed(0, 8)}${reversed(8, 12)}${reversed(12, 16)}${hex.slice(16, 32)}0`;
}
