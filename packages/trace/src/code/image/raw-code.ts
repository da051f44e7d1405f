import { CounterpointError } from '@counterpoint/core/base';

/** Part of a file that is in memory as it stands. */
export interface RawCode {
  /** As it was given: a colon in it is kept. */
  path: string;
  /** First byte of the file that counts. 0 where the text does not say. */
  offset: number;
  /** Null: to the end of the file. */
  end: number | null;
  /** Virtual address of that byte. */
  address: bigint;
}

const NUMBER = '(?:0[xX][0-9a-fA-F]{1,16}|0|[1-9][0-9]{0,19})';
const RAW = new RegExp(`^(.+?)(?::(${NUMBER})(?:-(${NUMBER}))?)?:(${NUMBER})$`, 's');

/**
 * Reads `FILE[:OFFSET[-END]]:VADDR`, numbers decimal or with 0x. The file's name may have
 * colons. Throws `ERR_RAW_CODE`.
 */
export function parseRawCode(text: string): RawCode {
  const match = RAW.exec(text);
  if (match === null) throw badRawCode(text, 'it is not of the form FILE[:OFFSET[-END]]:VADDR');
  const [, path = '', offsetText, endText, addressText = ''] = match;
  const offset = offsetText === undefined ? 0 : Number(offsetText);
  const end = endText === undefined ? null : Number(endText);
  if (!Number.isSafeInteger(offset) || !Number.isSafeInteger(end ?? 0))
    throw badRawCode(text, 'no file has that many bytes');
  if (end !== null && end <= offset) throw badRawCode(text, 'END is not greater than OFFSET');
  const address = BigInt(addressText);
  if (address > 0xffff_ffff_ffff_ffffn) throw badRawCode(text, 'VADDR has more than 64 bits');
  return { path, offset, end, address };
}

function badRawCode(text: string, why: string): CounterpointError {
  return new CounterpointError(
    'ERR_RAW_CODE',
    `"${text}" does not say which code is where: ${why}`,
    'For a whole file loaded at 0x401000: code.bin:0x401000; for a part of it: code.bin:0x1000-0x3000:0x401000.',
  );
}
