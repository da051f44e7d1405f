import { type ByteSource, CounterpointError, type Damage, memorySource } from '@counterpoint/core/base';
import { openHistory, writePerfDataOf } from '@counterpoint/core/history';

/** Of a history that is read as a recording, in memory. */
const MOST_BYTES = 2 ** 31;

/**
 * A history as the recording that it was made of, in memory. Its damaged records are a loss in there;
 * `damage` is what else was wrong.
 */
export async function recordingOfHistory(
  source: ByteSource,
  name: string,
): Promise<{ source: ByteSource; damage: Damage[] }> {
  const history = await openHistory(source);
  if (history.count * history.strideBytes > MOST_BYTES)
    throw new CounterpointError(
      'ERR_HISTORY',
      `the history ${name} is too large to be read at once`,
      `Make a recording of it first: counterpoint convert ${name}`,
    );
  const pieces: Uint8Array<ArrayBuffer>[] = [];
  const { header, bytes, damage } = await writePerfDataOf(history, (piece) => void pieces.push(piece));
  const whole = new Uint8Array(bytes);
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.length;
  }
  whole.set(header);
  return { source: memorySource(whole), damage };
}
