import { encodeUtf8, printable, printableJson, TextBuffer, toHex } from '../../base/index.ts';
import type { SourceFrame } from '../../code/symbols/index.ts';
import { isUserFrame, type NativeSources } from '../../profile/ingest/index.ts';
import { NONE, type Profile, recordedName } from '../../profile/tables/index.ts';
import { tierOf } from '../query/functions.ts';
import type { ScriptField } from './fields.ts';

/** Texts of whole stacks are kept up to this many bytes in all; then they are made anew. */
const MAX_KEPT_SIZE = 48 << 20;

const NOTHING = /* @__PURE__ */ new Uint8Array();

/** How frames are told besides their names. */
export interface StackTextOptions {
  /** Where lines and inlined functions come from; null: they are not asked for. */
  sources: NativeSources | null;
  /** Call chains show inlined functions. */
  isInlined: boolean;
  /** At most this many frames of a call chain; the others are left out. */
  maxStack: number;
  /** Whole paths of source files in place of their last part. */
  fullPaths: boolean;
}

/**
 * Frames and stacks as `script` prints them, each made once:
 *
 *     \t            90c0 do_lookup_x+0x360 (/usr/lib/ld.so)
 */
export class StackText {
  readonly #profile: Profile;
  /** By frame, twice: where it was interrupted, where it had called. */
  readonly #frameTexts: Uint8Array[] = [];
  readonly #innermostTexts: Uint8Array[] = [];
  readonly #stackTexts = new Map<number, Uint8Array>();
  #keptSize = 0;
  readonly #scratch = new TextBuffer(1 << 14);
  readonly #fields: ReadonlySet<ScriptField>;
  readonly #jsonFrames: string[] = [];
  readonly #options: StackTextOptions;

  constructor(profile: Profile, fields: ReadonlySet<ScriptField>, options: StackTextOptions) {
    this.#profile = profile;
    this.#fields = fields;
    this.#options = options;
  }

  /** The call chain in UTF-8, innermost first, one frame a line. */
  chain(stack: number): Uint8Array {
    const known = this.#stackTexts.get(stack);
    if (known !== undefined) return known;
    const { prefix, frame } = this.#profile.stacks;
    this.#scratch.clear();
    let isCalling = false;
    let left = this.#options.maxStack;
    for (let row = stack; row !== NONE && left > 0; row = prefix.data[row]!, left--) {
      const frameRow = frame.data[row]!;
      this.#scratch.put(this.#frameText(frameRow, isCalling));
      isCalling = isUserFrame(this.#profile, frameRow);
    }
    const text = this.#scratch.view().slice();
    this.#keptSize += text.length;
    if (this.#keptSize > MAX_KEPT_SIZE) {
      this.#stackTexts.clear();
      this.#keptSize = text.length;
    }
    this.#stackTexts.set(stack, text);
    return text;
  }

  #frameText(frame: number, isCalling: boolean): Uint8Array {
    const key = frame * 2 + (isCalling ? 1 : 0);
    let text = this.#frameTexts[key];
    if (text === undefined) {
      const address = `\t${this.#address(frame).padStart(16)}`;
      const known = this.#sourcesOf(frame, isCalling);
      const inlined = this.#options.isInlined ? known.slice(0, -1) : [];
      const lines = inlined.map(
        (one) => `${address}${this.#inlinedName(one, frame)}${this.#line(one)} (inlined)\n`,
      );
      // The line of a function that others are inlined into is that of the call.
      const own = this.#options.isInlined ? known.at(-1) : known[0];
      lines.push(`${address}${this.#names(frame)}${this.#line(own)}\n`);
      text = encodeUtf8(lines.join(''));
      this.#frameTexts[key] = text;
    }
    return text;
  }

  #sourcesOf(frame: number, isCalling: boolean): readonly SourceFrame[] {
    return this.#options.sources?.at(frame, isCalling) ?? [];
  }

  #inlinedName({ functionName }: SourceFrame, frame: number): string {
    if (!this.#fields.has('sym')) return '';
    const offset = this.#fields.has('symoff') ? this.#offset(frame) : '';
    return functionName === '' ? ' [unknown]' : ` ${printable(functionName)}${offset}`;
  }

  /** perf's form: on a line of its own. */
  #line(place: SourceFrame | undefined): string {
    if (place === undefined || !this.#fields.has('srcline') || place.line === 0) return '';
    const { file, line } = place;
    return `\n  ${printable(this.#options.fullPaths ? file : file.slice(file.lastIndexOf('/') + 1))}:${line}`;
  }

  /** Where a frame is in the source, `file.c:12`; empty where nobody asks for it, or it is not known. */
  sourceLine(frame: number, before: string): string {
    const line = this.#line(this.#sourcesOf(frame, false)[0]);
    return line === '' ? '' : `${before}${line.trim()}`;
  }

  /** What follows the address on a line without call chain, in UTF-8. */
  innermost(stack: number): Uint8Array {
    if (stack === NONE) return NOTHING;
    const frame = this.#profile.stacks.frame.data[stack]!;
    const known = this.#innermostTexts[frame];
    if (known !== undefined) return known;
    const text = `${this.#names(frame)}${this.#line(this.#sourcesOf(frame, false)[0])}`;
    return (this.#innermostTexts[frame] = encodeUtf8(text));
  }

  /** The stack as JSON: frames innermost first, or only the innermost. */
  json(stack: number, whole: boolean): string {
    const { prefix, frame } = this.#profile.stacks;
    const parts: string[] = [];
    let isCalling = false;
    let left = this.#options.maxStack;
    for (let row = stack; row !== NONE && left > 0; left--, row = whole ? prefix.data[row]! : NONE) {
      const frameRow = frame.data[row]!;
      const key = frameRow * 4 + (isCalling ? 1 : 0) + (whole ? 2 : 0);
      parts.push((this.#jsonFrames[key] ??= this.#jsonFrame(frameRow, isCalling, whole)));
      isCalling = isUserFrame(this.#profile, frameRow);
    }
    return `[${parts.join(',')}]`;
  }

  #jsonFrame(frame: number, isCalling: boolean, isChain: boolean): string {
    const { frames, binaries } = this.#profile;
    const fields = this.#fields;
    const hasSymbol = frames.symbol.data[frame] !== NONE;
    const tier = tierOf(this.#profile, frame);
    const known = this.#sourcesOf(frame, isCalling);
    const isInlined = isChain && this.#options.isInlined;
    const own: Record<string, unknown> = { address: `0x${this.#address(frame)}` };
    if (fields.has('sym')) own['symbol'] = hasSymbol ? this.#symbolName(frame) : null;
    if (fields.has('sym') && tier !== '') own['tier'] = tier;
    if (fields.has('symoff')) own['offset'] = hasSymbol ? frames.symbolOffset.data[frame] : null;
    if (fields.has('dso')) own['dso'] = binaries[frames.binary.data[frame]!]!.path;
    if (fields.has('srcline')) own['source'] = sourceJson(isInlined ? known.at(-1) : known[0]);
    const inlined = (isInlined ? known.slice(0, -1) : []).map((one) => {
      const wanted: Record<string, unknown> = { ...own, inlined: true };
      if (fields.has('sym')) wanted['symbol'] = one.functionName || null;
      if (fields.has('srcline')) wanted['source'] = sourceJson(one);
      return wanted;
    });
    return [...inlined, own].map((one) => printableJson(one)).join(',');
  }

  #address(frame: number): string {
    const { addressLo, addressHi } = this.#profile.frames;
    return toHex(addressLo.data[frame]! >>> 0, addressHi.data[frame]! >>> 0);
  }

  #symbolName(frame: number): string {
    const { frames, symbols, strings } = this.#profile;
    return strings.get(symbols.name.at(frames.symbol.at(frame)));
  }

  #names(frame: number): string {
    const fields = this.#fields;
    const { frames, binaries } = this.#profile;
    let text = '';
    if (fields.has('sym')) {
      // perf's lines have the copy's own name.
      const name = recordedName(this.#profile, frame);
      if (name === null) text += ' [unknown]';
      else {
        text += ` ${printable(name)}`;
        if (fields.has('symoff')) text += this.#offset(frame);
      }
    }
    if (fields.has('dso')) text += ` (${printable(binaries[frames.binary.at(frame)]!.path)})`;
    return text;
  }

  #offset(frame: number): string {
    return `+0x${this.#profile.frames.symbolOffset.at(frame).toString(16)}`;
  }
}

function sourceJson(place: SourceFrame | undefined): { file: string; line: number; column?: number } | null {
  if (place === undefined || place.line === 0) return null;
  const { file, line, column } = place;
  return { file, line, ...(column === 0 ? {} : { column }) };
}
