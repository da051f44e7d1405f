/**
 * The program of a line table (DWARF 5, section 6.2): a machine with a few registers that appends rows.
 *
 *     opcode 0             a longer one follows: its size, its number, its arguments
 *     1 .. opcodeBase - 1  standard ones, with the number of arguments that the header says
 *     from opcodeBase on   address and line both go on a little, and a row is appended
 */
import type { DwarfCursor } from './dwarf-cursor.ts';
import {
  DW_LNE_DEFINE_FILE,
  DW_LNE_END_SEQUENCE,
  DW_LNE_SET_ADDRESS,
  DW_LNS_ADVANCE_LINE,
  DW_LNS_ADVANCE_PC,
  DW_LNS_CONST_ADD_PC,
  DW_LNS_COPY,
  DW_LNS_EXTENDED,
  DW_LNS_FIXED_ADVANCE_PC,
  DW_LNS_NEGATE_STMT,
  DW_LNS_SET_COLUMN,
  DW_LNS_SET_FILE,
} from './dwarf-facts.ts';
import { type LineHeader, readOldFile } from './line-header.ts';
import { ROW_ENDS_SEQUENCE, ROW_IS_STATEMENT, type RowSink } from './line-rows.ts';

/**
 * Rows of a file: more than any program has (Chromium some 10^8). A byte of a program can be a row of
 * seventeen, and a compressed section can be a thousand times as long as the file.
 */
const MOST_ROWS = 1 << 27;
/** Larger operands are damage: no program is that large. */
const MOST_ADVANCE = 2 ** 48;
/** What a row has room for. */
const MOST_COLUMN = 0xffff;

/**
 * Runs the program of a unit. `fileOf` gives the number of a header's file among all. Returns false where the
 * program is damaged: rows before are kept, and their last sequence is ended where it stood.
 */
export function runLineProgram(
  cursor: DwarfCursor,
  header: LineHeader,
  rows: RowSink,
  fileOf: (file: number) => number,
  mostRows: number = MOST_ROWS,
): boolean {
  const { opcodeBase, lineBase, lineRange, minInstructionLength, maxOperations, argumentCounts } = header;
  const startFlags = header.defaultIsStatement ? ROW_IS_STATEMENT : 0;
  let address = 0;
  let operation = 0;
  let file = 1;
  let line = 1;
  let column = 0;
  let flags = startFlags;
  let firstRow = rows.length;

  cursor.at = header.programStart;
  cursor.end = header.end;
  cursor.isDamaged = false;
  while (cursor.at < cursor.end && !cursor.isDamaged && Math.abs(address) < Number.MAX_SAFE_INTEGER) {
    if (rows.length >= mostRows) break;
    const opcode = cursor.u8();
    // How far the address goes on; closures would keep it and its like in memory.
    let count = 0;
    let isRow = false;
    let more = 0;
    if (opcode >= opcodeBase) {
      const adjusted = opcode - opcodeBase;
      count = (adjusted / lineRange) | 0;
      line += lineBase + (adjusted % lineRange);
      isRow = true;
    } else
      switch (opcode) {
        case DW_LNS_EXTENDED: {
          const size = cursor.uleb();
          const next = cursor.at + size;
          if (size === 0 || next > cursor.end) {
            cursor.isDamaged = true;
            break;
          }
          const extended = cursor.u8();
          if (extended === DW_LNE_END_SEQUENCE) {
            isRow = true;
            more = ROW_ENDS_SEQUENCE;
          } else if (extended === DW_LNE_SET_ADDRESS) {
            if (size === 9) address = cursor.i64();
            else if (size === 5) address = cursor.u32();
            else cursor.isDamaged = true;
            operation = 0;
          } else if (extended === DW_LNE_DEFINE_FILE) {
            const defined = readOldFile(cursor);
            if (defined !== null) header.files.push(defined);
          }
          cursor.at = next;
          break;
        }
        case DW_LNS_COPY:
          isRow = true;
          break;
        case DW_LNS_ADVANCE_PC: {
          count = cursor.uleb();
          if (count > MOST_ADVANCE) {
            cursor.isDamaged = true;
            count = 0;
          }
          break;
        }
        case DW_LNS_ADVANCE_LINE:
          line += cursor.sleb();
          break;
        case DW_LNS_SET_FILE:
          file = cursor.uleb();
          break;
        case DW_LNS_SET_COLUMN:
          column = Math.min(cursor.uleb(), MOST_COLUMN);
          break;
        case DW_LNS_NEGATE_STMT:
          flags ^= ROW_IS_STATEMENT;
          break;
        case DW_LNS_CONST_ADD_PC:
          count = Math.floor((255 - opcodeBase) / lineRange);
          break;
        case DW_LNS_FIXED_ADVANCE_PC:
          address += cursor.u16();
          operation = 0;
          break;
        default:
          // Prologue and the like, and opcodes of the future.
          for (let left = argumentCounts[opcode]!; left > 0; left--) cursor.uleb();
      }
    if (maxOperations === 1) address += minInstructionLength * count;
    else {
      address += minInstructionLength * Math.floor((operation + count) / maxOperations);
      operation = (operation + count) % maxOperations;
    }
    if (!isRow) continue;
    rows.push(address, fileOf(file), line > 0 && line < 0x1_0000_0000 ? line : 0, flags | more, column);
    if (more === 0) continue;
    firstRow = rows.length;
    address = 0;
    operation = 0;
    file = 1;
    line = 1;
    column = 0;
    flags = startFlags;
  }
  if (rows.length === firstRow) return cursor.at >= cursor.end && !cursor.isDamaged;
  rows.push(
    address,
    fileOf(file),
    line > 0 && line < 0x1_0000_0000 ? line : 0,
    flags | ROW_ENDS_SEQUENCE,
    column,
  );
  return false;
}
