import { toHex } from '../../base/index.ts';
import type { SampleExtra } from '../../format/records/index.ts';
import type { WalkedSample } from '../../profile/ingest/index.ts';
import { pageSizeText, registersText } from '../record-text/registers-text.ts';
import type { ScriptField } from './fields.ts';

/** What stands at the end of a sample's line and needs no names. */
export function plainTail(
  sample: WalkedSample,
  fields: ReadonlySet<ScriptField>,
  extra: SampleExtra | null,
): string {
  let text = '';
  if (fields.has('phys_addr')) {
    text += toHex(sample.fields.physicalAddrLo, sample.fields.physicalAddrHi).padStart(16);
  }
  const { dataPageSizeLo, dataPageSizeHi, codePageSizeLo, codePageSizeHi } = sample.fields;
  if (fields.has('data_page_size')) text += ` ${pageSizeText(dataPageSizeLo, dataPageSizeHi)}`;
  if (fields.has('code_page_size')) text += ` ${pageSizeText(codePageSizeLo, codePageSizeHi)}`;
  if (extra === null) return text;
  if (fields.has('ipc') && extra.cycles > 0) {
    // As perf: what is behind the second digit is cut off.
    const ipc = (Math.floor((extra.instructions * 100) / extra.cycles) / 100).toFixed(2);
    text += ` \t IPC: ${ipc} (${extra.instructions}/${extra.cycles}) `;
  }
  const { instruction } = extra;
  if (fields.has('insnlen')) text += ` ilen: ${instruction.length}`;
  if (fields.has('insn') && instruction.length > 0) {
    text += ' insn:';
    for (const byte of instruction) text += ` ${byte.toString(16).padStart(2, '0')}`;
  }
  return text;
}

/** Registers, as far as they are wanted. `arch` is the recorded machine's. */
export function registerTail(
  { view, fields, event: { attr } }: WalkedSample,
  wanted: ReadonlySet<ScriptField>,
  littleEndian: boolean,
  arch: string | undefined,
): string {
  const text = (abi: number, offset: number, mask: bigint) =>
    registersText(view, littleEndian, { abi, offset, mask }, arch);
  const atInterrupt = wanted.has('iregs')
    ? text(fields.interruptRegsAbi, fields.interruptRegsOffset, attr.sampleRegsIntr)
    : '';
  return wanted.has('uregs')
    ? atInterrupt + text(fields.userRegsAbi, fields.userRegsOffset, attr.sampleRegsUser)
    : atInterrupt;
}
