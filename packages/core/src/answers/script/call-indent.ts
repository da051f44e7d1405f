import { printable } from '../../base/index.ts';
import {
  PERF_IP_FLAG_CALL,
  PERF_IP_FLAG_RETURN,
  PERF_IP_FLAG_TRACE_BEGIN,
  PERF_IP_FLAG_TRACE_END,
} from '../../format/abi/index.ts';
import { NONE, type Profile, recordedName } from '../../profile/tables/index.ts';
import type { ScriptField } from './fields.ts';

/** A branch whose line waits for the names of its places. */
export interface PendingBranch {
  /** Row of the stack table of where it went. */
  stack: number;
  address: string;
  fromAddress: string;
  /** Its flags, as perf's letters number them. */
  flags: number;
  /** Calls that were open behind it. */
  depth: number;
}

const STEP = 4;

/**
 * Calls and returns, indented by their depth; the name of the function that is called, or returned from. The
 * width grows by steps and shrinks late, so that lines stay under each other, as perf does it.
 */
export class CallIndent {
  readonly #profile: Profile;
  readonly #dsoWidth: number;
  #width = 0;

  constructor(profile: Profile, dsoWidth: number) {
    this.#profile = profile;
    this.#dsoWidth = dsoWidth;
  }

  /** `from` is the row of the branch's own place. */
  text(branch: PendingBranch, from: number, fields: ReadonlySet<ScriptField>): string {
    const { flags } = branch;
    // What has returned is no longer counted, and stands under its call all the same.
    const depth = branch.depth + ((flags & PERF_IP_FLAG_RETURN) !== 0 ? 1 : 0);
    const isTo = (flags & (PERF_IP_FLAG_CALL | PERF_IP_FLAG_TRACE_BEGIN)) !== 0;
    const isFrom = !isTo && (flags & (PERF_IP_FLAG_RETURN | PERF_IP_FLAG_TRACE_END)) !== 0;
    const place = isTo ? branch.stack : from;
    const address = isTo ? branch.address : branch.fromAddress;
    let text = '';
    if (fields.has('dso') && !fields.has('ip') && !fields.has('addr'))
      text += `(${printable(this.#dso(from)).padEnd(this.#dsoWidth)})\t`;
    let name = '';
    if (isTo || isFrom) name = this.#symbol(place) ?? (address === '0' ? '' : address.padStart(16));
    const line = name === '' ? '' : ' '.repeat(depth * STEP) + printable(name);
    const { length } = line;
    if (length > this.#width || (length > 0 && length < this.#width - 52))
      this.#width = Math.ceil((length + 4) / 32) * 32;
    return text + line.padEnd(this.#width);
  }

  #symbol(stack: number): string | null {
    return stack === NONE ? null : recordedName(this.#profile, this.#profile.stacks.frame.at(stack));
  }

  #dso(stack: number): string {
    if (stack === NONE) return '[unknown]';
    const { stacks, frames, binaries } = this.#profile;
    return binaries[frames.binary.at(stacks.frame.at(stack))]!.path;
  }
}
