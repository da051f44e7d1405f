import type { BodyWriter } from '../../records/index.ts';
import type { FeatureReader } from './feature-reader.ts';
import type { FeatureField, PerfDataFeatures } from './perf-data-features.ts';

/**
 * How one feature section is read and written. The fields it fills are named, so
 * that a change can be noticed.
 */
export interface FeatureCodec {
  fields: readonly FeatureField[];
  /** Read into `into`; on damage sets `reader.damaged` and keeps what could be read. */
  read(reader: FeatureReader, into: PerfDataFeatures): void;
  /** Write the section, or return false where its fields are absent. */
  write(writer: BodyWriter, features: PerfDataFeatures): boolean;
}

const utf8 = new TextEncoder();

/** perf pads strings and paths to this. */
export const NAME_ALIGN = 64;

/** u32 length, bytes, NUL, zeros: as perf writes them, so that old readers that need the NUL find it. */
export function writeString(writer: BodyWriter, text: string): void {
  const bytes = utf8.encode(text);
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

/** A section that is one string. */
export function stringFeature(field: KeysOf<string>): FeatureCodec {
  return {
    fields: [field],
    read(reader, into) {
      into[field] = reader.string();
    },
    write(writer, features) {
      const text = features[field];
      if (text === undefined) return false;
      writeString(writer, text);
      return true;
    },
  };
}

/** A section that is empty: its presence is the fact. */
export function flagFeature(field: 'branchStack' | 'stat'): FeatureCodec {
  return {
    fields: [field],
    read(_reader, into) {
      into[field] = true;
    },
    write(_writer, features) {
      return features[field] === true;
    },
  };
}

/** A section that is one u64. */
export function u64Feature(field: 'totalMemoryKb' | 'clockIdResolutionNs' | 'dirFormat'): FeatureCodec {
  return {
    fields: [field],
    read(reader, into) {
      const value = reader.u64();
      if (!reader.damaged) into[field] = value;
    },
    write(writer, features) {
      const value = features[field];
      if (value === undefined) return false;
      writer.u64(value);
      return true;
    },
  };
}

/** A section that is not interpreted here. */
export function bytesFeature(field: 'bpfProgInfo' | 'bpfBtf' | 'cpuDomainInfo'): FeatureCodec {
  return {
    fields: [field],
    read(reader, into) {
      into[field] = reader.rest();
    },
    write(writer, features) {
      const bytes = features[field];
      if (bytes === undefined) return false;
      writer.rest(bytes);
      return true;
    },
  };
}
