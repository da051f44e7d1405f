import { CodeImage } from '../../code/image/index.ts';
import type { ProfileColumns } from '../answers/exact-profile.ts';
import { AddressFilter } from '../flow/index.ts';
import type { FromWorker, ToWorker } from './messages.ts';
import { PartRunner } from './part-runner.ts';

/**
 * The worker's side: give the function it returns every message, in order. `isLocal`: what
 * it posts stays in this thread.
 */
export function servePartWorker(
  post: (message: FromWorker, transfer: readonly ArrayBuffer[]) => void,
  isLocal = false,
): (message: ToWorker) => void {
  let runner: PartRunner | null = null;
  const handle = (message: ToWorker): void => {
    if (message.type === 'start') {
      const { filterRanges, ...options } = message.options;
      runner = new PartRunner(CodeImage.of(message.code), {
        ...options,
        filter: new AddressFilter(filterRanges),
      });
      return;
    }
    if (runner === null) throw new Error(`"${message.type}" came before "start"`);
    if (message.type === 'part') {
      const { part } = message;
      const outcome = runner.run(part, (doneBytes) => post({ type: 'progress', id: part.id, doneBytes }, []));
      const { buffer } = part.bytes;
      const memory = buffer instanceof ArrayBuffer ? buffer : null;
      post({ type: 'outcome', outcome, memory }, memory === null ? [] : [memory]);
    } else if (message.type === 'settle') {
      if (message.keep) runner.keep(message.id);
      else runner.drop(message.id);
    } else {
      const profile = runner.finish();
      const columns = isLocal ? null : profile.toColumns();
      if (columns === null) post({ type: 'result', profile }, []);
      else post({ type: 'result', profile: columns }, buffersOf(columns));
    }
  };
  return (message) => {
    try {
      handle(message);
    } catch (error) {
      post({ type: 'failed', message: error instanceof Error ? error.message : String(error) }, []);
    }
  };
}

function buffersOf(profile: ProfileColumns): ArrayBuffer[] {
  const { cuts: _cuts, leftOut: _leftOut, ...columns } = profile;
  return Object.values(columns).map((column) => column.buffer);
}
