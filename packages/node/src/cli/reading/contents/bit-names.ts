/** perf's names of the bits of an attr's words, from the lowest on. */
const BITS: Readonly<Record<string, readonly string[]>> = {
  sample_type: words(
    'IP TID TIME ADDR READ CALLCHAIN ID CPU PERIOD STREAM_ID RAW BRANCH_STACK REGS_USER STACK_USER WEIGHT DATA_SRC IDENTIFIER TRANSACTION REGS_INTR PHYS_ADDR AUX CGROUP DATA_PAGE_SIZE CODE_PAGE_SIZE WEIGHT_STRUCT',
  ),
  read_format: words('TOTAL_TIME_ENABLED TOTAL_TIME_RUNNING ID GROUP LOST'),
  branch_sample_type: words(
    'USER KERNEL HV ANY ANY_CALL ANY_RETURN IND_CALL ABORT_TX IN_TX NO_TX COND CALL_STACK IND_JUMP CALL NO_FLAGS NO_CYCLES TYPE_SAVE HW_INDEX PRIV_SAVE COUNTERS',
  ),
};

function words(text: string): readonly string[] {
  return text.split(' ');
}

/** `IP|TID|TIME`; bits without a name as a number. Null for a word that is no set of bits. */
export function bitNames(field: string, value: number | string): string | null {
  const names = BITS[field];
  if (names === undefined) return null;
  let rest = BigInt(value);
  const found: string[] = [];
  for (const [bit, name] of names.entries()) {
    if (((rest >> BigInt(bit)) & 1n) === 0n) continue;
    found.push(name);
    rest &= ~(1n << BigInt(bit));
  }
  if (rest !== 0n) found.push(`0x${rest.toString(16)}`);
  return found.join('|');
}
