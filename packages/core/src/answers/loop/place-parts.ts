import { NONE, type Profile } from '../../profile/tables/index.ts';
import type { StackBlame } from './stack-blame.ts';
import type { TurnPart } from './turn-parts.ts';

/**
 * Says in which stack each part of a turn was. Functions of the C library that wait keep no frame pointer
 * (futex, epoll), so the stack of a wait may lack everybody who called it. Where the parts before and after
 * have callers in common, the wait was within these, or they were left and entered again; the part is marked:
 *
 *     handler > spawn      epoll, no callers      handler > readOutput
 *                          handler (inferred)
 */
export function placeParts(parts: readonly TurnPart[], profile: Profile, blame: StackBlame): void {
  const { stack } = profile.samples;
  for (const part of parts) part.stack = part.row < 0 ? NONE : stack.at(part.row);
  // Threads without JavaScript have no better stacks.
  if (!parts.some((part) => blame.hasScript(part.stack))) {
    for (const part of parts) if (part.state === 'waiting' && blame.isWaitOnly(part.stack)) part.stack = NONE;
    return;
  }
  const known = parts.map((part) => blame.hasScript(part.stack));
  let before = -1;
  for (let index = 0; index < parts.length; index++) {
    const part = parts[index]!;
    if (known[index]!) {
      before = index;
      continue;
    }
    if (part.stack !== NONE && !blame.isWaitOnly(part.stack)) continue;
    const after = known.indexOf(true, index);
    part.stack =
      before < 0 || after < 0 ? NONE : blame.commonCaller(parts[before]!.stack, parts[after]!.stack);
    part.isInferred = part.stack !== NONE;
  }
}
