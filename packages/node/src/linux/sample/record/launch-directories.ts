import { existsSync, readFileSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';

/** `cd DIR`, `make -C DIR`, `npm --prefix=DIR`. */
const CHANGE =
  /(?:^|[\s;&|({`"'])(?:cd|pushd|chdir|-C|--(?:prefix|cwd|chdir|directory|dir))(?:\s+|=)(?:--\s+)?("[^"]*"|'[^']*'|[^\s;&|()<>`"']+)/g;
/** Only the shell knows what these become. */
const EXPANDED = /[$`~*?[\\]|^-/;
const MOST_SCRIPT_BYTES = 1 << 16;

/**
 * The directories that the words of a launcher lead to, and those that its scripts name, as far as they are
 * there; null among them: nobody knows which. What those start in turn may go elsewhere.
 */
export function launchDirectories(
  program: string,
  command: readonly string[],
  cwd: string,
): (string | null)[] {
  const texts = [command.slice(1).join(' '), scriptText(program)];
  for (const word of command.slice(1)) texts.push(scriptText(resolve(cwd, word)));
  return texts.flatMap((text) => {
    let from = cwd;
    return [...text.matchAll(CHANGE)].map(([, word]) => {
      const path = word!.replace(/^["']|["']$/g, '');
      if (EXPANDED.test(path)) return null;
      from = resolve(from, path);
      return existing(from);
    });
  });
}

/**
 * What is not there yet is made by what was started, if its parent can be written (`mkdir -p out && cd out`);
 * or it is no directory at all (`grep -C 3`).
 */
function existing(directory: string): string {
  let found = directory;
  while (!existsSync(found) && dirname(found) !== found) found = dirname(found);
  return found;
}

/** Empty: it is no script of a shell. */
function scriptText(path: string): string {
  try {
    const facts = statSync(path);
    if (!facts.isFile() || facts.size > MOST_SCRIPT_BYTES) return '';
    const text = readFileSync(path, 'latin1');
    return /^#!.*\b(?:ba|da|z|k|a)?sh\b/.test(text) || path.endsWith('.sh') ? text : '';
  } catch {
    return '';
  }
}
