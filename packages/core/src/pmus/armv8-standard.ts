import { ARMV8_EVENTS } from './armv8-facts.ts';

/**
 * Arm ARM, "Recommended IMPLEMENTATION DEFINED events": a core need not have them, so they are in no model; tables name
 * them without their code.
 */
export const ARMV8_RECOMMENDED: readonly (readonly [code: number, name: string])[] = [
  [0x40, 'L1D_CACHE_RD'],
  [0x41, 'L1D_CACHE_WR'],
  [0x42, 'L1D_CACHE_REFILL_RD'],
  [0x43, 'L1D_CACHE_REFILL_WR'],
  [0x44, 'L1D_CACHE_REFILL_INNER'],
  [0x45, 'L1D_CACHE_REFILL_OUTER'],
  [0x46, 'L1D_CACHE_WB_VICTIM'],
  [0x47, 'L1D_CACHE_WB_CLEAN'],
  [0x48, 'L1D_CACHE_INVAL'],
  [0x4c, 'L1D_TLB_REFILL_RD'],
  [0x4d, 'L1D_TLB_REFILL_WR'],
  [0x4e, 'L1D_TLB_RD'],
  [0x4f, 'L1D_TLB_WR'],
  [0x50, 'L2D_CACHE_RD'],
  [0x51, 'L2D_CACHE_WR'],
  [0x52, 'L2D_CACHE_REFILL_RD'],
  [0x53, 'L2D_CACHE_REFILL_WR'],
  [0x56, 'L2D_CACHE_WB_VICTIM'],
  [0x57, 'L2D_CACHE_WB_CLEAN'],
  [0x58, 'L2D_CACHE_INVAL'],
  [0x5c, 'L2D_TLB_REFILL_RD'],
  [0x5d, 'L2D_TLB_REFILL_WR'],
  [0x5e, 'L2D_TLB_RD'],
  [0x5f, 'L2D_TLB_WR'],
  [0x60, 'BUS_ACCESS_RD'],
  [0x61, 'BUS_ACCESS_WR'],
  [0x62, 'BUS_ACCESS_SHARED'],
  [0x63, 'BUS_ACCESS_NOT_SHARED'],
  [0x64, 'BUS_ACCESS_NORMAL'],
  [0x65, 'BUS_ACCESS_PERIPH'],
  [0x66, 'MEM_ACCESS_RD'],
  [0x67, 'MEM_ACCESS_WR'],
  [0x68, 'UNALIGNED_LD_SPEC'],
  [0x69, 'UNALIGNED_ST_SPEC'],
  [0x6a, 'UNALIGNED_LDST_SPEC'],
  [0x6c, 'LDREX_SPEC'],
  [0x6d, 'STREX_PASS_SPEC'],
  [0x6e, 'STREX_FAIL_SPEC'],
  [0x6f, 'STREX_SPEC'],
  [0x70, 'LD_SPEC'],
  [0x71, 'ST_SPEC'],
  [0x72, 'LDST_SPEC'],
  [0x73, 'DP_SPEC'],
  [0x74, 'ASE_SPEC'],
  [0x75, 'VFP_SPEC'],
  [0x76, 'PC_WRITE_SPEC'],
  [0x77, 'CRYPTO_SPEC'],
  [0x78, 'BR_IMMED_SPEC'],
  [0x79, 'BR_RETURN_SPEC'],
  [0x7a, 'BR_INDIRECT_SPEC'],
  [0x7c, 'ISB_SPEC'],
  [0x7d, 'DSB_SPEC'],
  [0x7e, 'DMB_SPEC'],
  [0x81, 'EXC_UNDEF'],
  [0x82, 'EXC_SVC'],
  [0x83, 'EXC_PABORT'],
  [0x84, 'EXC_DABORT'],
  [0x86, 'EXC_IRQ'],
  [0x87, 'EXC_FIQ'],
  [0x88, 'EXC_SMC'],
  [0x8a, 'EXC_HVC'],
  [0x8b, 'EXC_TRAP_PABORT'],
  [0x8c, 'EXC_TRAP_DABORT'],
  [0x8d, 'EXC_TRAP_OTHER'],
  [0x8e, 'EXC_TRAP_IRQ'],
  [0x8f, 'EXC_TRAP_FIQ'],
  [0x90, 'RC_LD_SPEC'],
  [0x91, 'RC_ST_SPEC'],
  [0xa0, 'L3D_CACHE_RD'],
  [0xa1, 'L3D_CACHE_WR'],
  [0xa2, 'L3D_CACHE_REFILL_RD'],
  [0xa3, 'L3D_CACHE_REFILL_WR'],
  [0xa6, 'L3D_CACHE_WB_VICTIM'],
  [0xa7, 'L3D_CACHE_WB_CLEAN'],
  [0xa8, 'L3D_CACHE_INVAL'],
];

export interface StandardEvent {
  readonly name: string;
  readonly code: bigint;
  readonly description: string;
}

/** Events by the manual's name, for tables that only name them (`ArchStdEvent`). */
export const ARM_STANDARD_EVENTS: ReadonlyMap<string, StandardEvent> = new Map([
  ...ARMV8_EVENTS.map(({ vendorName, terms, description }) => entry(vendorName!, terms[0]![1], description)),
  ...ARMV8_RECOMMENDED.map(([code, name]) =>
    entry(name, BigInt(code), 'An event that the Armv8 architecture recommends, see its manual.'),
  ),
]);

function entry(name: string, code: bigint, description: string): readonly [string, StandardEvent] {
  return [name, { name, code, description }];
}
