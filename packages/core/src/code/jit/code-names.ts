import { parseScriptName, type ScriptName } from './script-names.ts';

/**
 * What a map of JIT code calls a piece of code, taken apart: the function, and which of its copies this is.
 */
export interface JitCodeName {
  /**
   * The function: the same for all of its copies, whatever compiler made them. Other
   * runtimes' names are as recorded.
   */
  name: string;
  /** V8's mark (see `TIER_WORDS`), or the runtime's own word; empty where the name has none. */
  tier: string;
}

/**
 * .NET's tiers stand behind the signature, `… Program::Work(int32)[OptimizedTier1]`: the words of the
 * runtime's `GetJitOptimizationTierStr`. Only these, and only behind a bracket that closes a
 * signature: arrays end in `[]`.
 */
const DOTNET_TIER =
  /(?<=\))\[(MinOptJitted|Optimized|QuickJitted|OptimizedTier1|OptimizedTier1OSR|Tier0|Tier1|InstrumentedTier|InstrumentedTierOptimized|ReadyToRun|PreJIT|Unknown)\]$/;

/**
 * One function is one name. V8 writes one line for each copy of a function, with a mark
 * of the compiler that made it.
 */
export function jitCodeName(recorded: string): JitCodeName {
  const script = parseScriptName(recorded);
  if (script !== null) return { name: scriptText(script), tier: script.tier };
  const dotnet = DOTNET_TIER.exec(recorded);
  if (dotnet !== null) return { name: recorded.slice(0, dotnet.index), tier: dotnet[1]! };
  return { name: recorded, tier: '' };
}

/** `JS:multiply /app/calc.js:1:18`. Reading it again gives the same parts, without a tier. */
export function scriptText({ name, file, line, column }: ScriptName): string {
  const kind = file.startsWith('wasm-function[') || name.startsWith('wasm-function[') ? 'Wasm' : 'JS';
  const place = [file, line, column].filter((part) => part !== null).join(':');
  return place === '' ? `${kind}:${name}` : `${kind}:${name} ${place}`;
}
