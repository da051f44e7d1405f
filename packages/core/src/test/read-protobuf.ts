/**
 * A protobuf reader for tests: the fields of a message in order, numbers and bytes.
 * Throws on what does not add up.
 */
export type ProtobufField = { field: number; value: bigint } | { field: number; value: Uint8Array };

export function readMessage(bytes: Uint8Array): ProtobufField[] {
  const fields: ProtobufField[] = [];
  let at = 0;
  const varint = (): bigint => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = bytes[at++];
      if (byte === undefined || shift > 63n) throw new Error(`varint at ${at} does not end`);
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  };
  while (at < bytes.length) {
    const tag = Number(varint());
    if ((tag & 7) === 0) {
      fields.push({ field: tag >>> 3, value: varint() });
    } else if ((tag & 7) === 2) {
      const length = Number(varint());
      if (at + length > bytes.length) throw new Error(`${length} bytes at ${at} of ${bytes.length}`);
      fields.push({ field: tag >>> 3, value: bytes.subarray(at, at + length) });
      at += length;
    } else {
      throw new Error(`wire type ${tag & 7} at ${at}`);
    }
  }
  return fields;
}

/** Unpacks `repeated` numbers. */
export function readPacked(bytes: Uint8Array): bigint[] {
  const values: bigint[] = [];
  let value = 0n;
  let shift = 0n;
  for (const byte of bytes) {
    value |= BigInt(byte & 0x7f) << shift;
    shift += 7n;
    if (byte < 0x80) {
      values.push(value);
      value = 0n;
      shift = 0n;
    }
  }
  return values;
}

/** One number of a message, 0 where it is not there. */
export function numberOf(fields: ProtobufField[], field: number): bigint {
  const found = fields.find((entry) => entry.field === field)?.value;
  return typeof found === 'bigint' ? found : 0n;
}

export function bytesOf(fields: ProtobufField[], field: number): Uint8Array[] {
  return fields.flatMap((entry) =>
    entry.field === field && typeof entry.value !== 'bigint' ? [entry.value] : [],
  );
}
