/** Bits of the config of an intel_pt event (/sys/bus/event_source/devices/intel_pt/format). */

/**
 * Tracing itself.
 *
 * @internal
 */
export const PT_CONFIG_PT = 1n << 0n;
/**
 * CYC packets.
 *
 * @internal
 */
export const PT_CONFIG_CYC = 1n << 1n;
/**
 * MTC packets.
 *
 * @internal
 */
export const PT_CONFIG_MTC = 1n << 9n;
/**
 * TSC packets.
 *
 * @internal
 */
export const PT_CONFIG_TSC = 1n << 10n;
/**
 * Returns are not compressed.
 *
 * @internal
 */
export const PT_CONFIG_NORETCOMP = 1n << 11n;
/**
 * Packets of branches.
 *
 * @internal
 */
export const PT_CONFIG_BRANCH = 1n << 13n;
/**
 * Packets of events.
 *
 * @internal
 */
export const PT_CONFIG_EVENT_TRACE = 1n << 31n;
/**
 * Where the period of MTC packets is.
 *
 * @internal
 */
export const PT_CONFIG_MTC_PERIOD_SHIFT = 14;
/**
 * Its bits.
 *
 * @internal
 */
export const PT_CONFIG_MTC_PERIOD = 0xfn << 14n;
