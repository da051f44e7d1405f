import { toHex } from '../../base/index.ts';
import { NONE, type Profile } from '../../profile/index.ts';
import type { ScriptField } from './fields.ts';

/** Texts of whole stacks are kept up to this many characters in all; then they are made anew. */
const MAX_KEPT_LENGTH = 48 << 20;

/**
 * Frames and stacks as `script` prints them, each made once:
 *
 *     \t            90c0 do_lookup_x+0x360 (/usr/lib/ld.so)
 */
export class StackText {
  private readonly profile: Profile;
  private readonly frameTexts: string[] = [];
  private readonly stackTexts = new Map<number, string>();
  private keptLength = 0;
  private readonly fields: ReadonlySet<ScriptField>;
  private readonly jsonFrames: string[] = [];

  constructor(profile: Profile, fields: ReadonlySet<ScriptField>) {
    this.profile = profile;
    this.fields = fields;
  }

  /** The call chain, innermost first, one frame a line. */
  chain(stack: number): string {
    const known = this.stackTexts.get(stack);
    if (known !== undefined) return known;
    const { prefix, frame } = this.profile.stacks;
    let text = '';
    for (let row = stack; row !== NONE; row = prefix.data[row]!) {
      const frameRow = frame.data[row]!;
      text += this.frameTexts[frameRow] ??=
        `\t${this.address(frameRow).padStart(16)}${this.names(frameRow)}\n`;
    }
    this.keptLength += text.length;
    if (this.keptLength > MAX_KEPT_LENGTH) {
      this.stackTexts.clear();
      this.keptLength = text.length;
    }
    this.stackTexts.set(stack, text);
    return text;
  }

  /** What follows the address on a line without call chain. */
  innermost(stack: number): string {
    return stack === NONE ? '' : this.names(this.profile.stacks.frame.data[stack]!);
  }

  /** The stack as JSON: frames innermost first, or only the innermost. */
  json(stack: number, whole: boolean): string {
    const { prefix, frame } = this.profile.stacks;
    const parts: string[] = [];
    for (let row = stack; row !== NONE; row = whole ? prefix.data[row]! : NONE) {
      const frameRow = frame.data[row]!;
      parts.push((this.jsonFrames[frameRow] ??= this.jsonFrame(frameRow)));
    }
    return `[${parts.join(',')}]`;
  }

  private jsonFrame(frame: number): string {
    const { frames, binaries } = this.profile;
    const hasSymbol = frames.symbol.data[frame] !== NONE;
    return JSON.stringify({
      address: `0x${this.address(frame)}`,
      symbol: hasSymbol ? this.symbolName(frame) : null,
      offset: hasSymbol ? frames.symbolOffset.data[frame] : null,
      dso: binaries[frames.binary.data[frame]!]!.path,
    });
  }

  private address(frame: number): string {
    const { addressLo, addressHi } = this.profile.frames;
    return toHex(addressLo.data[frame]! >>> 0, addressHi.data[frame]! >>> 0);
  }

  private symbolName(frame: number): string {
    const { frames, symbols, strings } = this.profile;
    return strings.get(symbols.name.at(frames.symbol.at(frame)));
  }

  private names(frame: number): string {
    const { fields } = this;
    const { frames, binaries } = this.profile;
    let text = '';
    if (fields.has('sym')) {
      if (frames.symbol.at(frame) === NONE) text += ' [unknown]';
      else {
        text += ` ${this.symbolName(frame)}`;
        if (fields.has('symoff')) text += `+0x${frames.symbolOffset.at(frame).toString(16)}`;
      }
    }
    if (fields.has('dso')) text += ` (${binaries[frames.binary.at(frame)]!.path})`;
    return text;
  }
}
