/** Value of a byte as a hex digit of either case, or -1. */
export const HEX_VALUE: Int8Array = /* @__PURE__ */ hexValues();

function hexValues(): Int8Array {
  const values = new Int8Array(256).fill(-1);
  for (let value = 0; value < 16; value++) {
    const digit = value.toString(16);
    values[digit.charCodeAt(0)] = value;
    values[digit.toUpperCase().charCodeAt(0)] = value;
  }
  return values;
}
