/**
 * Operators of the Itanium C++ ABI (section 5.1.3, "Operator Encodings"; 5.1.6
 * for those of expressions only).
 */
export interface Operator {
  readonly code: string;
  /** As written in an expression. */
  readonly text: string;
  /** How many operands follow in an expression. */
  readonly operands: 0 | 1 | 2 | 3;
}

const ROWS: readonly (readonly [code: string, text: string, operands: 0 | 1 | 2 | 3])[] = [
  ['aN', '&=', 2],
  ['aS', '=', 2],
  ['aa', '&&', 2],
  ['ad', '&', 1],
  ['an', '&', 2],
  ['at', 'alignof ', 1],
  ['aw', 'co_await ', 1],
  ['az', 'alignof ', 1],
  ['cc', 'const_cast', 2],
  ['cl', '()', 2],
  ['cm', ',', 2],
  ['co', '~', 1],
  ['dV', '/=', 2],
  ['dX', '[...]=', 3],
  ['da', 'delete[] ', 1],
  ['dc', 'dynamic_cast', 2],
  ['de', '*', 1],
  ['di', '=', 2],
  ['dl', 'delete ', 1],
  ['ds', '.*', 2],
  ['dt', '.', 2],
  ['dv', '/', 2],
  ['dx', ']=', 2],
  ['eO', '^=', 2],
  ['eo', '^', 2],
  ['eq', '==', 2],
  ['fL', '...', 3],
  ['fR', '...', 3],
  ['fl', '...', 2],
  ['fr', '...', 2],
  ['ge', '>=', 2],
  ['gs', '::', 1],
  ['gt', '>', 2],
  ['ix', '[]', 2],
  ['lS', '<<=', 2],
  ['le', '<=', 2],
  ['li', 'operator"" ', 1],
  ['ls', '<<', 2],
  ['lt', '<', 2],
  ['mI', '-=', 2],
  ['mL', '*=', 2],
  ['mi', '-', 2],
  ['ml', '*', 2],
  ['mm', '--', 1],
  ['na', 'new[]', 3],
  ['ne', '!=', 2],
  ['ng', '-', 1],
  ['nt', '!', 1],
  ['nw', 'new', 3],
  ['nx', 'noexcept', 1],
  ['oR', '|=', 2],
  ['oo', '||', 2],
  ['or', '|', 2],
  ['pL', '+=', 2],
  ['pl', '+', 2],
  ['pm', '->*', 2],
  ['pp', '++', 1],
  ['ps', '+', 1],
  ['pt', '->', 2],
  ['qu', '?', 3],
  ['rM', '%=', 2],
  ['rS', '>>=', 2],
  ['rc', 'reinterpret_cast', 2],
  ['rm', '%', 2],
  ['rs', '>>', 2],
  ['sP', 'sizeof...', 1],
  ['sZ', 'sizeof...', 1],
  ['sc', 'static_cast', 2],
  ['ss', '<=>', 2],
  ['st', 'sizeof ', 1],
  ['sz', 'sizeof ', 1],
  ['te', 'typeid ', 1],
  ['ti', 'typeid ', 1],
  ['tr', 'throw', 0],
  ['tw', 'throw ', 1],
];

export const OPERATORS: readonly Operator[] = ROWS.map(([code, text, operands]) => ({
  code,
  text,
  operands,
}));

/** Code -> row of OPERATORS. */
export const OPERATOR_ROWS: ReadonlyMap<string, number> = new Map(ROWS.map(([code], row) => [code, row]));
