/**
 * One packet, decoded. A reader fills it and the next read overwrites it (borrowed).
 *
 * What the fields mean for each kind; fields that a kind does not name hold what an earlier packet left:
 *
 *   kind         lo, hi                      type             extra            flags
 *   TNT8, TNT64  outcomes, oldest highest    how many
 *   TIP*, FUP    payload, zero-extended      compression
 *   MODE_EXEC                                                                  PT_MODE_EXEC_*
 *   MODE_TSX                                                                   PT_MODE_TSX_*
 *   PIP          CR3                                                           FLAG_NON_ROOT
 *   VMCS         base address
 *   CBR          ratio
 *   TSC          low 56 bits
 *   TMA          CTC                                          fast counter
 *   MTC          CTC, 8 bits
 *   CYC          cycles
 *   MNT          payload
 *   PTW          payload                     size code 0, 1                    FLAG_IP
 *   EXSTOP, BEP                                                                FLAG_IP
 *   MWAIT        hints, extensions
 *   PWRE                                     state            sub-state        FLAG_HW
 *   PWRX                                     deepest state    last state       PT_PWRX_*
 *   BBP                                      type             item size 4, 8
 *   BIP          value                       id               item size 4, 8
 *   CFE                                      type             vector           FLAG_IP
 *   EVD          payload                     type
 *   TRIG                                     vector (TRBV)    instructions     FLAG_IP, FLAG_MULT, FLAG_ICNT
 */
export class Packet {
  /** One of PACKET_*. */
  kind = 0;
  /** Bytes, header and payload. */
  size = 0;
  /** The low half of the 64-bit payload, as an int32. `>>> 0` makes it unsigned. */
  lo = 0;
  /** The high half. */
  hi = 0;
  /** As the table says for this kind: the number of outcomes, PT_IP_*, a type or a state. */
  type = 0;
  /** As the table says for this kind. */
  extra = 0;
  /** Bits: FLAG_*, PT_MODE_EXEC_*, PT_MODE_TSX_* or PT_PWRX_*, by kind. */
  flags = 0;
}

/** A FUP follows and gives the address: EXSTOP, PTW, BEP, CFE, TRIG. */
export const FLAG_IP = 1;
/** In PIP: in a guest of a hypervisor (VMX non-root). */
export const FLAG_NON_ROOT = 1;
/** In PWRE: the hardware chose the power state, not the MWAIT. */
export const FLAG_HW = 1;
/** In TRIG: several triggers came together. */
export const FLAG_MULT = 2;
/** In TRIG: the packet says how many instructions retired since the last branch. */
export const FLAG_ICNT = 4;
