/**
 * Where a text stops being JSON, and with what: JSON.parse itself says it in other words in each
 * version, often without the place.
 */
export interface JsonFault {
  /** From 1, in characters. */
  line: number;
  column: number;
  what: string;
}

const BLANK = /[ \t\n\r]*/y;
const TOKEN =
  /[{}[\],:]|"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y;

type Expected = 'value' | 'value or ]' | 'name' | 'name or }' | ':' | ', or ]' | ', or }' | 'nothing';

const EXPECTED_TEXT: Readonly<Record<Expected, string>> = {
  value: 'a value is expected',
  'value or ]': 'a value or ] is expected',
  name: 'a name in double quotes is expected',
  'name or }': 'a name in double quotes or } is expected',
  ':': ': is expected',
  ', or ]': ', or ] is expected',
  ', or }': ', or } is expected',
  nothing: 'there is text after the end',
};

/** The first fault of a text that JSON.parse has refused. */
export function jsonFault(text: string): JsonFault {
  /** What is open around the place: lists and objects. */
  const open: ('[' | '{')[] = [];
  let expected: Expected = 'value';
  let at = 0;
  for (;;) {
    at = matchAt(BLANK, text, at) ?? at;
    const end = matchAt(TOKEN, text, at);
    if (end === null) return faultAt(text, at, expected);
    const next = after(expected, text.slice(at, end), open);
    if (next === null) return faultAt(text, at, expected);
    expected = next;
    at = end;
  }
}

function matchAt(pattern: RegExp, text: string, at: number): number | null {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : null;
}

/** What is expected after a token; null where the token is not what was expected. */
function after(expected: Expected, token: string, open: ('[' | '{')[]): Expected | null {
  const closed = (): Expected => {
    const around = open.at(-1);
    return around === undefined ? 'nothing' : around === '[' ? ', or ]' : ', or }';
  };
  const close = (): Expected => {
    open.pop();
    return closed();
  };
  switch (expected) {
    case 'nothing':
      return null;
    case ':':
      return token === ':' ? 'value' : null;
    case ', or ]':
      return token === ',' ? 'value' : token === ']' ? close() : null;
    case ', or }':
      return token === ',' ? 'name' : token === '}' ? close() : null;
    case 'name or }':
      if (token === '}') return close();
      return token.startsWith('"') ? ':' : null;
    case 'name':
      return token.startsWith('"') ? ':' : null;
    case 'value or ]':
      if (token === ']') return close();
      break;
    case 'value':
      break;
  }
  if (token === '[' || token === '{') {
    open.push(token);
    return token === '[' ? 'value or ]' : 'name or }';
  }
  return /^[\]},:]/.test(token) ? null : closed();
}

function faultAt(text: string, at: number, expected: Expected): JsonFault {
  const lines = text.slice(0, at).split('\n');
  const isEnd = at >= text.length;
  return {
    line: lines.length,
    column: lines.at(-1)!.length + 1,
    what: isEnd
      ? `it ends where ${EXPECTED_TEXT[expected].replace(' is expected', ' should be')}`
      : EXPECTED_TEXT[expected],
  };
}
