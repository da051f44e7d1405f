const ROW_BYTES = 16;

/** The bytes of a record, 16 a row, as `perf report -D` prints them. */
export function* hexLines(view: DataView, start: number, end: number): Generator<string> {
  yield '.';
  yield `. ... raw event: size ${end - start} bytes`;
  for (let row = start; row < end; row += ROW_BYTES) {
    let hex = '';
    let text = '';
    for (let at = row; at < row + ROW_BYTES; at++) {
      const byte = at < end ? view.getUint8(at) : null;
      hex += byte === null ? '   ' : ` ${byte.toString(16).padStart(2, '0')}`;
      text += byte === null ? ' ' : byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : '.';
    }
    yield `.  ${(row - start).toString(16).padStart(4, '0')}: ${hex}  ${text}`;
  }
}
