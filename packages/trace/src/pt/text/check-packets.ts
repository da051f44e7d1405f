/** Packets of a trace program, held against what it says. */
import type { Errata } from '../packets/errata.ts';
import { errataOf, NO_ERRATA } from '../packets/errata.ts';
import { formatPacket } from '../packets/format-packet.ts';
import { PacketCursor } from '../packets/packet-cursor.ts';
import { NEED_MORE } from '../packets/read-packet.ts';
import type { TraceProgram } from './program.ts';

/**
 * What the packet decoder says of a program on one processor: a line a packet, `[…]`
 * where it had to look for a PSB.
 */
export function packetLines(program: TraceProgram, errata: Errata = NO_ERRATA): string[] {
  const cursor = new PacketCursor(program.trace, { errata });
  const lines: string[] = [];
  for (;;) {
    const size = cursor.next();
    if (size > 0) lines.push(formatPacket(cursor.packet));
    else if (size === NEED_MORE) {
      if (cursor.position < cursor.end) lines.push('[cut]');
      return lines;
    } else {
      lines.push('[damage]');
      if (!cursor.resynchronize()) return lines;
    }
  }
}

/** Where a program's packets are not as expected, on each of its processors; empty where all is well. */
export function checkPackets(program: TraceProgram): string[] {
  if (program.packets === null) return [];
  const problems: string[] = [];
  for (const cpu of program.cpus.length === 0 ? [null] : program.cpus) {
    const lines = packetLines(program, cpu === null ? NO_ERRATA : (errataOf(cpu) ?? NO_ERRATA));
    const where = cpu === null ? program.name : `${program.name} on ${cpu.family}/${cpu.model}`;
    for (let index = 0; index < Math.max(lines.length, program.packets.length); index++) {
      const expected = program.packets[index]?.text ?? 'nothing';
      const found = lines[index] ?? 'nothing';
      if (expected !== found) problems.push(`${where}: packet ${index + 1} is '${found}', not '${expected}'`);
    }
  }
  return problems;
}
