/**
 * The whole list of host API that core may use: what Node, a browser and a worker all have. Nothing else of
 * the host is visible here (`"types": []`, no DOM), so a stray `Buffer` or `document` fails to compile.
 */
declare class TextDecoder {
  constructor(label?: string, options?: { fatal?: boolean; ignoreBOM?: boolean });
  decode(input?: ArrayBufferView | ArrayBuffer, options?: { stream?: boolean }): string;
}

declare class TextEncoder {
  encode(input?: string): Uint8Array<ArrayBuffer>;
  encodeInto(source: string, destination: Uint8Array): { read: number; written: number };
}

declare const performance: { now(): number };

interface ByteWriter {
  readonly ready: Promise<unknown>;
  write(bytes: Uint8Array<ArrayBuffer>): Promise<void>;
  close(): Promise<void>;
}

interface ByteReader {
  read(): Promise<{ done: false; value: Uint8Array<ArrayBuffer> } | { done: true; value?: undefined }>;
  cancel(): Promise<void>;
}

declare class DecompressionStream {
  constructor(format: 'deflate' | 'gzip');
  readonly readable: { getReader(): ByteReader };
  readonly writable: { getWriter(): ByteWriter };
}
