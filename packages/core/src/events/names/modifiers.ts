import type { ParsedEvent } from './types.ts';

/**
 * An event whose modifiers are being applied: whether guests or hosts were spoken of must outlive its own.
 */
export interface ModifiedEvent extends ParsedEvent {
  choosesGuest: boolean;
  /** A wildcard or a generic name became several events on several PMUs. */
  isOneOfSeveral?: boolean;
}

/** Every modifier letter, as perf has them. */
export const MODIFIER_LETTERS = 'ukhpPGHSDIWebRX';
const MOST_PRECISE = 3;

/** What is wrong with modifiers, or `null`: unknown letters, a letter twice, more than three p. */
export function modifierProblem(letters: string): { at: number; reason: string } | null {
  let precise = 0;
  for (let at = 0; at < letters.length; at++) {
    const letter = letters[at]!;
    if (letter === ':') {
      const joined = letters.replaceAll(':', '');
      const meant = modifierProblem(joined) === null && joined !== '' ? `: write :${joined}` : '';
      return { at, reason: `modifiers must stand together after one colon${meant}` };
    }
    if (!MODIFIER_LETTERS.includes(letter)) {
      return { at, reason: `bad modifier '${letter}': known are ${[...MODIFIER_LETTERS].join(' ')}` };
    }
    if (letter === 'p') {
      if (++precise > MOST_PRECISE) return { at, reason: 'bad modifier: at most ppp' };
    } else if (letters.indexOf(letter) < at) {
      return { at, reason: `bad modifier: '${letter}' stands twice` };
    }
  }
  return null;
}

/**
 * Modifiers change an event: u, k, h keep only these levels; G and H only guest or host; I leaves out
 * the idle task; p raises precision, P asks for the most; D pins, e excludes others, W, S, b, R and X
 * are for the one who opens it.
 *
 * An event's own modifiers begin from nothing: each of them takes back perf's default of
 * leaving guests out, and u and p put it back. A group's begin from what the event already has,
 * and pin or exclude only its leader.
 */
export function applyModifiers(event: ModifiedEvent, letters: string, ofGroup: boolean): void {
  const { flags } = event.attr;
  if (!ofGroup) {
    flags.excludeGuest = 0;
    event.choosesGuest = false;
  }
  let levels = flags.excludeUser | flags.excludeKernel | flags.excludeHv;
  const keepOnly = (level: 'excludeUser' | 'excludeKernel' | 'excludeHv') => {
    if (!levels) levels = flags.excludeUser = flags.excludeKernel = flags.excludeHv = 1;
    flags[level] = 0;
  };
  const keepSide = (side: 'excludeGuest' | 'excludeHost') => {
    if (!event.choosesGuest) flags.excludeGuest = flags.excludeHost = 1;
    event.choosesGuest = true;
    flags[side] = 0;
  };
  for (const letter of letters) {
    switch (letter) {
      case 'u':
        keepOnly('excludeUser');
        if (!event.choosesGuest) flags.excludeGuest = 1;
        break;
      case 'k':
        keepOnly('excludeKernel');
        break;
      case 'h':
        keepOnly('excludeHv');
        break;
      case 'G':
        keepSide('excludeGuest');
        break;
      case 'H':
        keepSide('excludeHost');
        break;
      case 'I':
        flags.excludeIdle = 1;
        break;
      case 'p':
        flags.preciseIp = Math.min(flags.preciseIp + 1, MOST_PRECISE);
        if (!event.choosesGuest) flags.excludeGuest = 1;
        break;
      case 'P':
        event.options.mostPrecise = true;
        break;
      case 'S':
        event.options.sampleRead = true;
        break;
      case 'W':
        event.options.weakGroup = true;
        break;
      case 'b':
        event.options.bpfCounter = true;
        break;
      case 'R':
        event.options.retireLatency = true;
        break;
      case 'X':
        event.options.keepGroup = true;
        break;
      case 'D':
        if (!ofGroup || event.isLeader) flags.pinned = 1;
        break;
      case 'e':
        if (!ofGroup || event.isLeader) flags.exclusive = 1;
        break;
    }
  }
}
