import { encodeUtf8 } from '../../../base/index.ts';
import type { BodyWriter } from '../../../format/records/index.ts';
import type { FeatureReader } from './feature-reader.ts';
import type { FeatureField, PerfDataFeatures } from './perf-data-features.ts';

/** Reads a section into `into`; on damage sets `reader.damaged` and keeps what could be read. */
export type FeatureRead = (reader: FeatureReader, into: PerfDataFeatures) => void;

/**
 * How a section is written, apart from how it is read: who only reads bundles no writers. The fields that it
 * is made of are named, so that a change can be noticed.
 */
export interface FeatureWriter {
  fields: readonly FeatureField[];
  /** Write the section, or return false where its fields are absent. */
  write(writer: BodyWriter, features: PerfDataFeatures): boolean;
}

/** perf pads strings and paths to this. */
export const NAME_ALIGN = 64;

/** u32 length, bytes, NUL, zeros: as perf writes them, so that old readers that need the NUL find it. */
export function writeString(writer: BodyWriter, text: string): void {
  const bytes = encodeUtf8(text);
  const size = Math.ceil((bytes.length + 1) / NAME_ALIGN) * NAME_ALIGN;
  writer.u32(size);
  writer.bytes(bytes, size);
}

export function writeStrings(writer: BodyWriter, texts: readonly string[]): void {
  writer.u32(texts.length);
  for (const text of texts) writeString(writer, text);
}

type KeysOf<T> = {
  [K in FeatureField]-?: PerfDataFeatures[K] extends T | undefined ? K : never;
}[FeatureField];

type TextField = KeysOf<string>;
type FlagField = 'branchStack' | 'stat';
type U64Field = 'totalMemoryKb' | 'clockIdResolutionNs' | 'dirFormat';
type BytesField = 'bpfProgInfo' | 'bpfBtf' | 'cpuDomainInfo';

/** A section that is one string. */
export function readText(field: TextField): FeatureRead {
  return (reader, into) => {
    into[field] = reader.string();
  };
}

export function textWriter(field: TextField): FeatureWriter {
  return writerOf(field, (writer, text) => writeString(writer, text));
}

/** A section that is empty: its presence is the fact. */
export function readFlag(field: FlagField): FeatureRead {
  return (_reader, into) => {
    into[field] = true;
  };
}

export function flagWriter(field: FlagField): FeatureWriter {
  return { fields: [field], write: (_writer, features) => features[field] === true };
}

/** A section that is one u64. */
export function readU64(field: U64Field): FeatureRead {
  return (reader, into) => {
    const value = reader.u64();
    if (!reader.damaged) into[field] = value;
  };
}

export function u64Writer(field: U64Field): FeatureWriter {
  return writerOf(field, (writer, value) => writer.u64(value));
}

/** A section that is not interpreted here. */
export function readBytes(field: BytesField): FeatureRead {
  return (reader, into) => {
    into[field] = reader.rest();
  };
}

export function bytesWriter(field: BytesField): FeatureWriter {
  return writerOf(field, (writer, bytes) => writer.rest(bytes));
}

function writerOf<F extends FeatureField>(
  field: F,
  put: (writer: BodyWriter, value: NonNullable<PerfDataFeatures[F]>) => void,
): FeatureWriter {
  return {
    fields: [field],
    write(writer, features) {
      const value = features[field];
      if (value === undefined) return false;
      put(writer, value as NonNullable<PerfDataFeatures[F]>);
      return true;
    },
  };
}
