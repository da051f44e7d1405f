const HEADER_BYTES = 20;

/**
 * `.eh_frame` and `.eh_frame_hdr` of code of `codeBytes`, as runtimes write them into jitdumps: its functions
 * have a frame of `frameBytes` of x86-64, and no frame pointer.
 */
export function jitFrameBytes(
  codeBytes: number,
  frameBytes: number,
): { data: Uint8Array; headerBytes: number } {
  const u32 = (value: number) => [
    value & 0xff,
    (value >> 8) & 0xff,
    (value >> 16) & 0xff,
    (value >> 24) & 0xff,
  ];
  // Version 1, "zR", code 1, data -8, the return address in column 16, pointers sdata4 | pcrel;
  // CFA rsp + 8, ra at CFA - 8.
  const cie = [...u32(0), 1, 0x7a, 0x52, 0, 1, 0x78, 16, 1, 0x1b, 0x0c, 7, 8, 0x90, 1, 0, 0];
  const common = [...u32(cie.length), ...cie];
  const startAt = common.length + 8;
  const start = -(Math.ceil(codeBytes / 8) * 8 + startAt);
  const fde = [...u32(common.length + 4), ...u32(start), ...u32(codeBytes), 0, 0x0e, frameBytes, 0];
  const frames = [...common, ...u32(fde.length), ...fde];
  return {
    data: Uint8Array.from([...frames, ...new Uint8Array(HEADER_BYTES)]),
    headerBytes: HEADER_BYTES,
  };
}
