/**
 * Bytes from ModRM to the end of the displacement, by ModRM (SDM vol. 2, tables 2-1 to 2-3):
 *
 *     mod 7..6 | reg 5..3 | rm 2..0      then SIB where rm is 4 (not in 16-bit addressing), then 0, 1, 2 or 4 bytes
 */

/** With mod 0 and a SIB whose base is 5 there are 4 bytes more. */
export const MODRM_SIB_DECIDES = 0x80;

export const MODRM_16: Uint8Array = Uint8Array.from({ length: 256 }, (_, modrm) => size16(modrm));
/** For 32- and 64-bit addressing. */
export const MODRM_32: Uint8Array = Uint8Array.from({ length: 256 }, (_, modrm) => size32(modrm));

function size16(modrm: number): number {
  const mod = modrm >> 6;
  if (mod === 3) return 1;
  if (mod === 0) return (modrm & 7) === 6 ? 3 : 1;
  return 1 + mod;
}

function size32(modrm: number): number {
  const mod = modrm >> 6;
  const rm = modrm & 7;
  if (mod === 3) return 1;
  if (mod === 0) return rm === 4 ? 2 | MODRM_SIB_DECIDES : rm === 5 ? 5 : 1;
  return 1 + (rm === 4 ? 1 : 0) + (mod === 1 ? 1 : 4);
}
