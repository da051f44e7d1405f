// esbuild plugin: the numeric constants of each file go into a module of their own,
// so that esbuild inlines them.
//
// esbuild puts a value in place of a constant's name only where its module imports nothing and where nothing
// but such constants stands before it. Elsewhere the name stays a variable: V8 loads it at each use, and a
// `switch` over names compares them in turn. So of
//
//     import { PT_TIP } from './opcodes.ts';        export const PACKET_TIP = 2;
//
// the second line moves to a module that imports nothing, and an import of it comes to the front of the
// first line. Lines keep their numbers. What moves needs only constants that moved before it, so the order
// of evaluation does not matter.
import { readFileSync } from 'node:fs';
import { relative } from 'node:path';

const DECLARATION = /^(export )?const ([A-Za-z_]\w*)(?:: number)? = ([^;]+);$/;
/** Number literals, names, and the operators that esbuild computes. */
const EXPRESSION = /^[\w\s()|&~^<>+*-]+$/;
const NAME = /\b[A-Za-z_]\w*/g;
const COMMENT = /^\s*(?:\*|\/[/*])/;
const CONSTANTS = 'constants-of:';

/**
 * The constants of a source as a module, their names (and whether they are
 * exported), and the source without them.
 */
export function separate(source) {
  const lines = source.split('\n');
  const exported = new Map();
  const constants = [];
  let isInTemplate = false;
  for (const [index, line] of lines.entries()) {
    const found = isInTemplate ? null : DECLARATION.exec(line);
    if (
      found !== null &&
      EXPRESSION.test(found[3]) &&
      (found[3].match(NAME) ?? []).every((name) => exported.has(name))
    ) {
      exported.set(found[2], found[1] !== undefined);
      constants.push(`export const ${found[2]} = ${found[3]};`);
      lines[index] = '';
    }
    if (!COMMENT.test(line) && (line.match(/`/g)?.length ?? 0) % 2 === 1) isInTemplate = !isInTemplate;
  }
  return { constants: constants.join('\n'), exported, rest: lines.join('\n') };
}

/** The source without its constants; they come from `path`'s module of constants. */
function withoutConstants(source, path) {
  const { exported, rest } = separate(source);
  if (exported.size === 0) return source;
  const all = [...exported.keys()];
  const visible = all.filter((name) => exported.get(name));
  return `import { ${all.join(', ')} } from ${JSON.stringify(CONSTANTS + relative('.', path))}; export { ${visible.join(', ')} }; ${rest}`;
}

export const inlineConstants = {
  name: 'inline-constants',
  setup({ onLoad, onResolve }) {
    onResolve({ filter: new RegExp(`^${CONSTANTS}`) }, ({ path }) => ({
      path: path.slice(CONSTANTS.length),
      namespace: 'constants',
      sideEffects: false,
    }));
    onLoad({ filter: /.*/, namespace: 'constants' }, ({ path }) => ({
      contents: separate(readFileSync(path, 'utf8')).constants,
    }));
    onLoad({ filter: /packages[\\/](?:core|trace|node)[\\/]src[\\/].*\.ts$/ }, ({ path }) => ({
      contents: withoutConstants(readFileSync(path, 'utf8'), path),
      loader: 'ts',
    }));
  },
};
