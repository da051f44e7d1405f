import { encodeUtf8, printable, printableJson, TextBuffer, toHex } from '../../base/index.ts';
import { NONE, type Profile, recordedName } from '../../profile/index.ts';
import { tierOf } from '../functions.ts';
import type { ScriptField } from './fields.ts';

/** Texts of whole stacks are kept up to this many bytes in all; then they are made anew. */
const MAX_KEPT_SIZE = 48 << 20;

const NOTHING = /* @__PURE__ */ new Uint8Array();

/**
 * Frames and stacks as `script` prints them, each made once:
 *
 *     \t            90c0 do_lookup_x+0x360 (/usr/lib/ld.so)
 */
export class StackText {
  readonly #profile: Profile;
  readonly #frameTexts: Uint8Array[] = [];
  readonly #innermostTexts: Uint8Array[] = [];
  readonly #stackTexts = new Map<number, Uint8Array>();
  #keptSize = 0;
  readonly #scratch = new TextBuffer(1 << 14);
  readonly #fields: ReadonlySet<ScriptField>;
  readonly #jsonFrames: string[] = [];

  constructor(profile: Profile, fields: ReadonlySet<ScriptField>) {
    this.#profile = profile;
    this.#fields = fields;
  }

  /** The call chain in UTF-8, innermost first, one frame a line. */
  chain(stack: number): Uint8Array {
    const known = this.#stackTexts.get(stack);
    if (known !== undefined) return known;
    const { prefix, frame } = this.#profile.stacks;
    this.#scratch.clear();
    for (let row = stack; row !== NONE; row = prefix.data[row]!)
      this.#scratch.put(this.#frameText(frame.data[row]!));
    const text = this.#scratch.view().slice();
    this.#keptSize += text.length;
    if (this.#keptSize > MAX_KEPT_SIZE) {
      this.#stackTexts.clear();
      this.#keptSize = text.length;
    }
    this.#stackTexts.set(stack, text);
    return text;
  }

  #frameText(frame: number): Uint8Array {
    let text = this.#frameTexts[frame];
    if (text === undefined) {
      text = encodeUtf8(`\t${this.#address(frame).padStart(16)}${this.#names(frame)}\n`);
      this.#frameTexts[frame] = text;
    }
    return text;
  }

  /** What follows the address on a line without call chain, in UTF-8. */
  innermost(stack: number): Uint8Array {
    if (stack === NONE) return NOTHING;
    const frame = this.#profile.stacks.frame.data[stack]!;
    return (this.#innermostTexts[frame] ??= encodeUtf8(this.#names(frame)));
  }

  /** The stack as JSON: frames innermost first, or only the innermost. */
  json(stack: number, whole: boolean): string {
    const { prefix, frame } = this.#profile.stacks;
    const parts: string[] = [];
    for (let row = stack; row !== NONE; row = whole ? prefix.data[row]! : NONE) {
      const frameRow = frame.data[row]!;
      parts.push((this.#jsonFrames[frameRow] ??= this.#jsonFrame(frameRow)));
    }
    return `[${parts.join(',')}]`;
  }

  #jsonFrame(frame: number): string {
    const { frames, binaries } = this.#profile;
    const hasSymbol = frames.symbol.data[frame] !== NONE;
    const tier = tierOf(this.#profile, frame);
    const wanted: Record<string, unknown> = { address: `0x${this.#address(frame)}` };
    if (this.#fields.has('sym')) wanted['symbol'] = hasSymbol ? this.#symbolName(frame) : null;
    if (this.#fields.has('sym') && tier !== '') wanted['tier'] = tier;
    if (this.#fields.has('symoff')) wanted['offset'] = hasSymbol ? frames.symbolOffset.data[frame] : null;
    if (this.#fields.has('dso')) wanted['dso'] = binaries[frames.binary.data[frame]!]!.path;
    return printableJson(wanted);
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
        if (fields.has('symoff')) text += `+0x${frames.symbolOffset.at(frame).toString(16)}`;
      }
    }
    if (fields.has('dso')) text += ` (${printable(binaries[frames.binary.at(frame)]!.path)})`;
    return text;
  }
}
