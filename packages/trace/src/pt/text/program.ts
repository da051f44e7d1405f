/** Trace programs: a test of the decoder that a person can read. `parseTraceProgram` has the grammar. */
import { didYouMean, nearestNames } from '@counterpoint/core/base';
import type { Cpu } from '../packets/errata.ts';
import { parseCpu } from '../packets/errata.ts';
import { Packet } from '../packets/packet.ts';
import { PACKET_BBP, PACKET_BIP } from '../packets/packet-kinds.ts';
import { PacketWriter } from '../packets/packet-writer.ts';
import type { TimeSettings } from '../time/time-settings.ts';
import type { CodeBytes, CodeMode, CodeSource, CodeStatement, Complain } from './assembler.ts';
import { assemble, placeLabels } from './assembler.ts';
import type { Labels } from './operands.ts';
import { evaluate } from './operands.ts';
import type { Section, Statement } from './sections.ts';
import { splitSections } from './sections.ts';
import { TraceTextError } from './text-error.ts';
import type { Words } from './trace-statements.ts';
import { STATEMENTS } from './trace-statements.ts';

/** A line that is expected: its text with labels filled in, and the address where it is nothing else. */
export interface ExpectedLine {
  /** `tip.pgd 3: 0000000000001005`, `[disabled]`: labels are filled in as hexadecimal digits. */
  readonly text: string;
  /** Where the line is an address alone: that address. Null for packets and events. */
  readonly address: bigint | null;
}

/** A trace program that was read: code, a trace of it, and what decoders shall say. */
export interface TraceProgram {
  /** What errors call it: a path, for example. */
  readonly name: string;
  /** One sentence: what the program is a test of. Empty where it has none. */
  readonly title: string;
  /** Each to be tried; empty: none in particular. */
  readonly cpus: readonly Cpu[];
  /**
   * Clocks of the traced processor, for `settings` of a decoder. Each is 0 where the program does not say.
   */
  readonly time: Omit<TimeSettings, 'errata'>;
  /** Words for whoever decodes the flow, as they stand. */
  readonly options: readonly string[];
  /** In the order of the sections. */
  readonly code: readonly CodeBytes[];
  /** Address of each label in the code. */
  readonly labels: Labels;
  /** The Intel PT packets, as bytes. */
  readonly trace: Uint8Array;
  /** What the packet decoder shall say, a line a packet. Null where the program does not say. */
  readonly packets: readonly ExpectedLine[] | null;
  /** What the flow decoder shall say, a line an instruction or event. Null where the program does not say. */
  readonly flow: readonly ExpectedLine[] | null;
}

const BYTES_WORD = 'bytes';

/**
 * Read a trace program: code, a trace of it, and what decoders shall say of both, in one text. Throws
 * `TraceTextError`, which names the line. `name` is what errors call the text.
 *
 *     title    a conditional branch not taken, then tracing stops
 *     cpu      6/92               # family/model, of which errata depend; several: one line each
 *     time     mtc-freq=3 nom-freq=21 eax=1 ebx=84
 *     code 0x1000 64              # at an address, 64, 32 or 16 bits
 *       l1: test
 *       l2: je l5
 *       l3: nop
 *       l5: hlt
 *     trace                       # the bytes, as packets
 *       psb; mode.exec 64; fup l1; psbend
 *       tnt n
 *       tip.pgd l3
 *     packets                     # what the packet decoder shall say
 *       psb
 *       mode.exec cs.l
 *       fup 3: @l1                # @label: its address, in as many digits as fill the 16
 *       psbend
 *       tnt.8 .
 *       tip.pgd 3: @l3
 *     flow                        # what the flow decoder shall say
 *       l1
 *       l2
 *       [disabled]
 *
 * Sections stand in any order; `options` has words for whoever decodes the flow. `#` begins a comment. A
 * keyword begins its line; the lines of its section are indented. Statements stand on lines of their own or
 * behind `;`. Instructions are those of `INSTRUCTIONS`, and `db` with bytes in hexadecimal; packets have the
 * names that `formatPacket` prints, and `bytes` takes any bytes.
 */
export function parseTraceProgram(text: string, name = 'program'): TraceProgram {
  const complain: Complain = (line, message, remedy) => {
    throw new TraceTextError(name, line, message, remedy);
  };
  const sections = splitSections(text, complain);
  const of = (keyword: string) => sections.filter((section) => section.keyword === keyword);
  const statements = (keyword: string) => of(keyword).flatMap((section) => section.statements);

  const sources = of('code').map((section) => readCode(section, complain));
  const labels = new Map<string, bigint>();
  for (const source of sources) placeLabels(source, labels, complain);
  const expected = (keyword: string): ExpectedLine[] | null =>
    of(keyword).length === 0 ? null : statements(keyword).map((line) => expectedLine(line, labels, complain));
  return {
    name,
    title: statements('title')
      .map((line) => line.text)
      .join('; '),
    cpus: statements('cpu').map(
      (line) => parseCpu(line.text) ?? complain(line.line, `'${line.text}' is no processor`),
    ),
    time: readTime(statements('time'), complain),
    options: statements('options').flatMap((line) => line.text.split(/\s+/)),
    code: sources.map((source) => assemble(source, labels, complain)),
    labels,
    trace: writeTrace(statements('trace'), labels, complain),
    packets: expected('packets'),
    flow: expected('flow'),
  };
}

function readCode({ line, statements }: Section, complain: Complain): CodeSource {
  const [head, ...lines] = statements;
  const [addressText = '', modeText = '64'] = head!.text.split(' ');
  const address = evaluate(addressText, new Map());
  if (typeof address === 'string') complain(line, `code: ${address}`);
  if (!['64', '32', '16'].includes(modeText))
    complain(line, `code is 64, 32 or 16 bits wide, not '${modeText}'`);
  return {
    address: address as bigint,
    mode: Number(modeText) as CodeMode,
    statements: lines.map(readCodeStatement),
  };
}

function readCodeStatement({ line, text }: Statement): CodeStatement {
  const match = /^(?:([a-z_][a-z0-9_.]*):)?\s*(\S*)\s*(.*)$/i.exec(text)!;
  return { line, label: match[1] ?? null, mnemonic: match[2]!, operand: match[3]! };
}

function readTime(statements: readonly Statement[], complain: Complain): Omit<TimeSettings, 'errata'> {
  const given = new Map<string, number>();
  for (const { line, text } of statements)
    for (const word of text.split(' ')) {
      const match = /^(mtc-freq|nom-freq|eax|ebx)=([0-9]+)$/.exec(word);
      if (match === null)
        complain(line, `'${word}': expected mtc-freq=, nom-freq=, eax= or ebx= and a number`);
      const value = Number(match![2]);
      if (value > 0xffff_ffff) complain(line, `'${word}': the number is too large`);
      given.set(match![1]!, value);
    }
  return {
    mtcFreq: given.get('mtc-freq') ?? 0,
    nomFreq: given.get('nom-freq') ?? 0,
    cpuid0x15Eax: given.get('eax') ?? 0,
    cpuid0x15Ebx: given.get('ebx') ?? 0,
  };
}

function writeTrace(statements: readonly Statement[], labels: Labels, complain: Complain): Uint8Array {
  const writer = new PacketWriter();
  const pieces: number[] = [];
  let itemBytes = 8;
  const take = () => {
    pieces.push(...writer.bytes());
    writer.clear();
  };
  for (const { line, text } of statements) {
    const [name = '', ...rest] = text.split(/[ ,]+/);
    if (name === BYTES_WORD) {
      take();
      for (const word of rest) {
        if (!/^[0-9a-f]{2}$/i.test(word))
          complain(line, `'${word}' is not a byte; bytes takes pairs of digits`);
        pieces.push(Number.parseInt(word, 16));
      }
      continue;
    }
    const entry = STATEMENTS.get(name);
    if (entry === undefined)
      complain(line, `no packet '${name}'${didYouMean(nearestNames(name, [...STATEMENTS.keys()], 1))}`);
    const [kind, build] = entry!;
    const packet = new Packet();
    packet.kind = kind;
    const words = wordReader(rest, labels, (message) => complain(line, `${name}: ${message}`));
    build(packet, words);
    const left = words.rest();
    if (left !== '') complain(line, `${name}: '${left}' is too much`);
    if (kind === PACKET_BBP) itemBytes = packet.extra;
    if (kind === PACKET_BIP) packet.extra = itemBytes;
    try {
      writer.write(packet);
    } catch (error) {
      complain(line, error instanceof Error ? error.message : String(error));
    }
  }
  take();
  return Uint8Array.from(pieces);
}

function wordReader(list: readonly string[], labels: Labels, complain: (message: string) => never): Words {
  let at = 0;
  const value = () => {
    const found = evaluate(list[at++] ?? '', labels);
    return typeof found === 'string' ? complain(found) : found;
  };
  return {
    complain,
    value,
    number() {
      const found = value();
      return found > 0xffff_ffffn ? complain(`${found} is too large`) : Number(found);
    },
    flag(word) {
      if (list[at] !== word) return false;
      at++;
      return true;
    },
    choice(...choices) {
      const word = list[at++] ?? '';
      return (
        choices.find((choice) => choice === word) ?? complain(`expected ${choices.join(', ')}, not '${word}'`)
      );
    },
    rest() {
      const left = list.slice(at).join(' ');
      at = list.length;
      return left;
    },
  };
}

const IP_DIGITS = 16;

/** `@label` and `@label+2` become the address, in as many digits as are missing to 16 behind a `:`. */
function expectedLine({ line, text }: Statement, labels: Labels, complain: Complain): ExpectedLine {
  const whole = evaluate(text, labels);
  if (typeof whole === 'bigint') return { text: whole.toString(16).padStart(IP_DIGITS, '0'), address: whole };
  const filled = text.replace(
    /(\?*)@([a-z_][a-z0-9_.]*(?:[+-][0-9a-fx]+)?)/gi,
    (_, marks: string, label: string) => {
      const address = evaluate(label, labels);
      if (typeof address === 'string') return complain(line, address);
      const digits = IP_DIGITS - marks.length;
      return (
        marks +
        address
          .toString(16)
          .padStart(IP_DIGITS, '0')
          .slice(IP_DIGITS - digits)
      );
    },
  );
  return { text: filled, address: null };
}
