import type { Family } from '../stacks/frame-labels.ts';

/** Every family in the order of its number in the file. */
export const FAMILIES: readonly Family[] = [
  'process',
  'kernel',
  'native',
  'script',
  'jit',
  'inlined',
  'unknown',
];

export const FAMILY_WORDS: Readonly<Record<Family, string>> = {
  process: 'process',
  kernel: 'kernel',
  native: 'native',
  script: 'JavaScript',
  jit: 'JIT and builtins',
  inlined: 'inlined',
  unknown: 'no symbol',
};

/** Shades per family, so that neighbours of one family stay apart. */
export const TONES = 3;

/**
 * Hue, then saturation and lightness on a light page and on a dark one. Text keeps a
 * contrast above 4.5 on all of them.
 */
const COLOURS: Readonly<Record<Family, { hue: number; light: [number, number]; dark: [number, number] }>> = {
  process: { hue: 220, light: [18, 85], dark: [12, 31] },
  kernel: { hue: 8, light: [86, 79], dark: [44, 38] },
  native: { hue: 41, light: [92, 71], dark: [58, 29] },
  script: { hue: 128, light: [46, 73], dark: [38, 29] },
  jit: { hue: 176, light: [42, 71], dark: [44, 27] },
  inlined: { hue: 208, light: [80, 81], dark: [42, 37] },
  unknown: { hue: 40, light: [8, 83], dark: [5, 33] },
};

const TONE_STEP = 3.5;

export function fillClass(family: number, tone: number): string {
  return `f${family * TONES + tone}`;
}

/**
 * Of each colour, for boxes that show a change. Shade 0 is the strongest blue,
 * `SHADES` grey, the last one red.
 */
export const SHADES = 5;

/** The class of a box that shows a change: see `shadesOf`. */
export function shadeClass(shade: number): string {
  return `c${shade}`;
}

/** What the colours of two recordings mean. */
export const shadeLegend = () => [
  { kind: shadeClass(2), words: 'shrank' },
  { kind: shadeClass(SHADES), words: 'no more than chance' },
  { kind: shadeClass(2 * SHADES - 2), words: 'grew' },
];

/** A shade that depends on the name only, so that a function looks the same in every picture. */
export function toneOf(name: string): number {
  let hash = 0x811c_9dc5;
  for (let at = 0; at < name.length; at++) hash = Math.imul(hash ^ name.charCodeAt(at), 0x0100_0193);
  return ((hash ^ (hash >>> 15)) >>> 0) % TONES;
}

/** The rules `.f0 … .f20 { fill: … }` of a light or a dark page. */
export function fillRules(scheme: 'light' | 'dark'): string {
  const rules: string[] = [];
  for (const [number, family] of FAMILIES.entries()) {
    const [saturation, lightness] = COLOURS[family][scheme];
    for (let tone = 0; tone < TONES; tone++) {
      const colour = hex(COLOURS[family].hue, saturation, lightness + (tone - 1) * TONE_STEP);
      rules.push(`.${fillClass(number, tone)}{fill:${colour}}`);
    }
  }
  for (let shade = 0; shade <= 2 * SHADES; shade++)
    rules.push(`.${shadeClass(shade)}{fill:${shadeColour(shade, scheme)}}`);
  return rules.join('');
}

/** Blue and red that are told apart without seeing red, too: they differ from grey in lightness alike. */
function shadeColour(shade: number, scheme: 'light' | 'dark'): string {
  const strength = Math.abs(shade - SHADES) / SHADES;
  const hue = shade < SHADES ? 214 : 6;
  if (strength === 0) return scheme === 'light' ? hex(220, 8, 90) : hex(220, 6, 26);
  return scheme === 'light'
    ? hex(hue, 70 + 15 * strength, 92 - 24 * strength)
    : hex(hue, 40 + 25 * strength, 26 + 14 * strength);
}

/** `hsl()` as `#rrggbb`, which every renderer knows. */
function hex(hue: number, saturation: number, lightness: number): string {
  const level = lightness / 100;
  const chroma = (saturation / 100) * Math.min(level, 1 - level);
  const part = (offset: number) => {
    const turn = (offset + hue / 30) % 12;
    const value = level - chroma * Math.max(-1, Math.min(turn - 3, 9 - turn, 1));
    return Math.round(value * 255)
      .toString(16)
      .padStart(2, '0');
  };
  return `#${part(0)}${part(8)}${part(4)}`;
}
