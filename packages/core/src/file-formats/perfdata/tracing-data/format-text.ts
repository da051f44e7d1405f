/** One field of a tracepoint's record. */
export interface TracepointField {
  /** Its name. */
  name: string;
  /**
   * Its C type as the kernel wrote it, without the name: `unsigned long`, `char[16]`, `__data_loc char[]`.
   */
  type: string;
  /** Where it stands in the record, in bytes. */
  offset: number;
  /** Its size in bytes. */
  size: number;
  /** Whether it is a signed number. */
  isSigned: boolean;
  /** Elements of an array of fixed length, else null. */
  arrayLength: number | null;
  /**
   * Where a string or array of any length is: the field holds `offset | size << 16`, the offset from the
   * record's start (`data`) or from the field's end (`relative`). Null for a plain field.
   */
  dynamic: 'data' | 'relative' | null;
  /** One of the fields that every tracepoint has. */
  isCommon: boolean;
}

/** The fields of a tracepoint, as the kernel describes them (`format` in tracefs). */
export interface TracepointFormat {
  /** `attr.config` of its events. */
  id: number;
  /** Its system, such as `sched`. */
  system: string;
  /** Its name, such as `sched_switch`. */
  name: string;
  /** Its fields, in the order of the record. */
  fields: TracepointField[];
  /** How the kernel prints it: a C format string and its arguments. */
  printFormat: string;
}

const WORD_CHARACTER = /\w/;

/**
 * Parse the text of a tracefs `format` file, or null where it has no name or id:
 *
 *   name: sched_switch
 *   ID: 316
 *   format:
 *       field:unsigned short common_type;  offset:0;  size:2;  signed:0;
 *       (an empty line, then the event's own fields)
 *       field:char prev_comm[16];  offset:8;  size:16;  signed:0;
 *   print fmt: "prev_comm=%s ...", REC->prev_comm, ...
 */
export function parseFormat(system: string, text: string): TracepointFormat | null {
  const lines = text.split('\n');
  const head = formatHead(lines);
  if (head === null) return null;
  const fields = lines.map(parseField).filter((field) => field !== null);
  const printed = lines.findLast((line) => line.startsWith('print fmt:'));
  return { ...head, system, fields, printFormat: printed?.slice(10).trim() ?? '' };
}

/** The id and the name among the lines of a `format` file, or null if one of them is missing. */
export function formatHead(lines: readonly string[]): { id: number; name: string } | null {
  let id = -1;
  let name = '';
  for (const line of lines) {
    if (line.startsWith('name:')) name = line.slice(5).trim();
    else if (line.startsWith('ID:')) id = Number.parseInt(line.slice(3), 10);
  }
  return id >= 0 && name !== '' ? { id, name } : null;
}

/**
 * `field:DECLARATION; offset:N; size:N; signed:N;`, cut at the semicolons: no backtracking on hostile lines.
 */
function parseField(line: string): TracepointField | null {
  const [head = '', ...rest] = line.split(';', 4).map((part) => part.trim());
  if (!head.startsWith('field:') && !head.startsWith('field special:')) return null;
  const number = (key: string) => {
    const part = rest.find((text) => text.startsWith(key));
    return part === undefined ? -1 : Number.parseInt(part.slice(key.length), 10);
  };
  const offset = number('offset:');
  const size = number('size:');
  if (!(offset >= 0) || !(size >= 0)) return null;

  const declaration = head.slice(head.indexOf(':') + 1).trim();
  const bracket = declaration.endsWith(']') ? declaration.indexOf('[') : -1;
  const named = bracket < 0 ? declaration : declaration.slice(0, bracket).trimEnd();
  let nameStart = named.length;
  while (nameStart > 0 && WORD_CHARACTER.test(named[nameStart - 1]!)) nameStart--;
  const name = named.slice(nameStart);
  const array = bracket < 0 ? '' : declaration.slice(bracket);
  const type = named.slice(0, nameStart).trimEnd() + array;
  const length = Number.parseInt(array.slice(1), 10);
  return {
    name,
    type,
    offset,
    size,
    isSigned: number('signed:') === 1,
    arrayLength: Number.isNaN(length) ? null : length,
    dynamic: type.startsWith('__data_loc') ? 'data' : type.startsWith('__rel_loc') ? 'relative' : null,
    isCommon: name.startsWith('common_'),
  };
}
