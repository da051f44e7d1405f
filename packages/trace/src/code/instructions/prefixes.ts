/** Prefixes seen so far, as a bit set. */
export const PREFIX_66 = 1;
export const PREFIX_67 = 2;
export const PREFIX_LOCK = 4;

/** Bits of REX, in the low half also of REX2's second byte. */
export const REX_R = 0x04;
export const REX_W = 0x08;
/** REX2's second byte: more bits for the register, and the choice of the 0F map. */
export const REX2_R4 = 0x40;
export const REX2_MAP_0F = 0x80;
/** That there is a prefix: REX 40 has no bit set. */
export const REX_PRESENT = 0x100;
