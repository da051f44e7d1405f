/** What template parameters stand for at the place where the printer is. */
import {
  BUILTIN,
  DEFAULT_ARGUMENT,
  EXPANSION,
  LAMBDA,
  type Node,
  TAGGED,
  TEMPLATE_ARGUMENTS,
  TEMPLATE_PARAMETER,
} from './node.ts';
import type { Printer } from './printer.ts';

/**
 * The argument for a parameter: that of the innermost template; of a pack, the
 * element being written. Or null.
 */
export function lookUpArgument(printer: Printer, parameter: Node): Node | null {
  const argument = argumentOrPack(printer, parameter);
  if (argument === null || argument.kind !== TEMPLATE_ARGUMENTS || printer.packIndex < 0) return argument;
  return argument.items[printer.packIndex] ?? null;
}

function argumentOrPack(printer: Printer, parameter: Node): Node | null {
  if (printer.templates === null) return null;
  return printer.templates.template.right!.items[parameter.value] ?? null;
}

/** The first pack that the pattern of an expansion uses, or null. */
export function findPack(printer: Printer, pattern: Node | null): Node | null {
  if (pattern === null) return null;
  printer.step();
  switch (pattern.kind) {
    case TEMPLATE_PARAMETER: {
      const argument = argumentOrPack(printer, pattern);
      return argument !== null && argument.kind === TEMPLATE_ARGUMENTS ? argument : null;
    }
    case EXPANSION:
    case LAMBDA:
    case TAGGED:
    case DEFAULT_ARGUMENT:
    case BUILTIN:
      return null;
  }
  const below = findPack(printer, pattern.left) ?? findPack(printer, pattern.right);
  if (below !== null) return below;
  for (const item of pattern.items) {
    const pack = findPack(printer, item);
    if (pack !== null) return pack;
  }
  return null;
}
