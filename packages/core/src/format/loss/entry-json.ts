/**
 * One entry of the ledger as bytes in a recording: JSON,
 * `{"version":1,"kind":"format-map-full","event":"cycles",...}`.
 */
import { decodeUtf8, encodeUtf8 } from '../../base/index.ts';
import { LOSS_KINDS, type LossEntry, type LossFacts, type LossKind } from './ledger.ts';

const VERSION = 1;
/** Longer names are cut: an entry has to fit into a record. */
const MOST_NAME_CHARS = 1024;
const DECIMAL = /^\d{1,20}$/;
const MOST_U64 = 0xffff_ffff_ffff_ffffn;
const MOST_I32 = 0x7fff_ffff;

/** Filled with blanks to words of 8 bytes, as records are. */
export function encodeLossEntry({
  kind,
  event,
  cpu,
  tid,
  fromNs,
  toNs,
  count,
  exact,
}: LossEntry): Uint8Array<ArrayBuffer> {
  const name = event === null ? null : event.slice(0, MOST_NAME_CHARS);
  const text = JSON.stringify({ version: VERSION, kind, event: name, cpu, tid, fromNs, toNs, count, exact });
  const bytes = encodeUtf8(text);
  const padded = new Uint8Array(Math.ceil(bytes.length / 8) * 8).fill(0x20);
  padded.set(bytes);
  return padded;
}

/** Null where it is no entry, or one of a kind or a version that is not known here. Never throws. */
export function decodeLossEntry(bytes: Uint8Array): LossFacts | null {
  const value = parsed(bytes);
  if (value === null || value['version'] !== VERSION) return null;
  const { kind, event, cpu, tid, fromNs, toNs, count, exact } = value;
  const known = { fromNs: u64OrNull(fromNs), toNs: u64OrNull(toNs), count: u64OrNull(count) };
  if (!isKind(kind) || typeof exact !== 'boolean' || known.count === null) return null;
  if (event !== null && (typeof event !== 'string' || event.length > MOST_NAME_CHARS)) return null;
  if (!isNumberOrNull(cpu) || !isNumberOrNull(tid)) return null;
  return { kind, event, cpu, tid, ...known, count: known.count, exact };
}

function parsed(bytes: Uint8Array): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(decodeUtf8(bytes));
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}

function isKind(kind: unknown): kind is LossKind {
  return typeof kind === 'string' && Object.hasOwn(LOSS_KINDS, kind);
}

function isNumberOrNull(value: unknown): value is number | null {
  return value === null || (Number.isInteger(value) && Math.abs(value as number) <= MOST_I32);
}

function u64OrNull(value: unknown): bigint | null {
  if (typeof value !== 'string' || !DECIMAL.test(value)) return null;
  const number = BigInt(value);
  return number <= MOST_U64 ? number : null;
}
