import type { ByteSource } from '../../base/index.ts';
import { findSlots } from './find-slots.ts';
import { decodeFooter, FOOTER_BYTES, HISTORY_MAGIC, hasMagic } from './layout.ts';

/** Of perf.data, in both byte orders: those are not searched. */
const OTHER_MAGICS = ['PERFILE2', '2ELIFREP'];
const MAGIC_BYTES = 8;

/** Whether a file is a history, also where its beginning, or its beginning and its end, are damaged. */
export async function isHistory(source: ByteSource): Promise<boolean> {
  const bytes = await source.read(0, MAGIC_BYTES);
  const beginning = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  if (hasMagic(beginning, HISTORY_MAGIC)) return true;
  if (OTHER_MAGICS.some((magic) => hasMagic(beginning, magic))) return false;
  const end = await source.read(Math.max(0, source.size - FOOTER_BYTES), FOOTER_BYTES);
  return decodeFooter(end) !== null || (await findSlots(source)) !== null;
}
