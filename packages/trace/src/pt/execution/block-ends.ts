/** What a trace says at the end of a block: nothing of what falls through or jumps to where the code says. */
export const END_SILENT = 0;
/** One outcome. Both numbers are also how many outcomes there are. */
export const END_CONDITIONAL = 1;
export const END_CALL = 2;
export const END_CALL_INDIRECT = 3;
export const END_JUMP_INDIRECT = 4;
export const END_RETURN = 5;
/** Into the kernel. */
export const END_FAR = 6;

export const END_MASK = 0xf;
/** Above the kind of its end: the number of the block behind it. */
export const BEHIND_SHIFT = 4;
export const NONE_BEHIND = -1;

/** Words of `places` that a block has. */
export const PLACE_WORDS = 4;
