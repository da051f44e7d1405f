/**
 * Standard output and standard error have one way in: `Output`
 * (packages/node/src/cli/common/output.ts), which escapes what a terminal would obey in names. Each
 * rule is a way past it, and where that is right, with the reason.
 */
interface OutputRule {
  readonly what: string;
  readonly pattern: RegExp;
  /** Where the rule holds; everywhere. */
  readonly in?: RegExp;
  /** Files, below `packages/node/src`, to which it does not apply, each with the reason. */
  readonly except: Readonly<Record<string, string>>;
}

const CLI = /^cli\//;
const COMMENT = /^\s*(?:\/?\*|\/\/)/;

const RULES: readonly OutputRule[] = [
  {
    what: 'the console',
    pattern: /\bconsole\b|node:console/,
    except: {
      'linux/kernel/sys/exec-holder.ts': 'text of a program of its own, which escapes its one name',
    },
  },
  {
    what: 'a stream of this process',
    pattern:
      /process\s*(?:\.|\[['"])\s*(?:stdout|stderr|_rawDebug)\b(?!\.isTTY\b)|\bstd(?:out|err)\b[^=\n]*\}\s*=\s*process\b/,
    except: {
      'cli/common/output.ts': 'the width of the terminal',
      'cli/measuring/top/terminal.ts': 'the size of the terminal',
      'linux/count/stat/run.ts': 'made early, nothing is written',
    },
  },
  {
    what: 'a stream on a descriptor',
    pattern: /node:tty|\bnew\s+(?:tty\.)?WriteStream\b|createWriteStream\([^)]*fd:\s*[12]\b/,
    except: {},
  },
  {
    what: 'a write to a descriptor',
    pattern: /\b(?:writev?|writev?Sync|writeFile|writeFileSync|appendFileSync)\(\s*(?:[12]|STD(?:OUT|ERR))\b/,
    except: {
      'cli/start/early-signals.ts': 'Output is not loaded yet; the text is constant',
      'linux/sample/formats/load-module.ts': 'the process is about to exit; the line is escaped',
    },
  },
  {
    what: 'a write to a descriptor',
    pattern: /\bwritev?Sync\(/,
    in: CLI,
    except: {
      'cli/common/output.ts': 'the one place',
      'cli/common/trace-log.ts': 'a file; the text is escaped',
      'cli/measuring/shared/control-channel.ts': 'answers of --control, which are constant',
      'cli/reading/inject/output.ts': 'a recording, into a file',
      'cli/start/early-signals.ts': 'Output is not loaded yet; the text is constant',
      'cli/start/start.ts': 'Output is not loaded yet; the text is constant',
    },
  },
  {
    what: 'standard output by its name',
    pattern: /['"`]\/(?:dev\/(?:tty|stdout|stderr|fd\/[12])|proc\/self\/fd\/[12])\b/,
    except: {},
  },
  {
    what: 'an escape sequence',
    pattern: /\\x1b|\\u001b|\\u\{1b\}|\\033/i,
    except: {
      'cli/common/output.ts': 'the one place',
      'cli/common/styles.ts': 'marks of styles',
      'cli/measuring/top/keys.ts': 'what the keyboard sends',
    },
  },
  {
    what: 'JSON that leaves control characters as they are (use printableJson)',
    pattern: /JSON\.stringify/,
    in: CLI,
    except: {},
  },
  {
    what: 'an Output of its own',
    pattern: /\bnew Output\(|\bdescriptorSink\(/,
    except: {
      'cli/common/output.ts': 'the one place',
      'cli/main.ts': 'standard output and standard error',
      'cli/measuring/shared/text-file.ts': 'the file of stat -o and of list -o',
    },
  },
  {
    what: 'bytes that are not escaped',
    pattern: /\.binary\(/,
    in: CLI,
    except: {
      'cli/common/export-file.ts': 'formats of other tools; refused on a terminal',
      'cli/reading/inject/output.ts': 'a recording; refused on a terminal',
    },
  },
  {
    what: 'control of the terminal',
    pattern: /\.(?:control|screen)\(/,
    in: CLI,
    except: { 'cli/measuring/top/terminal.ts': 'the whole screen' },
  },
];

/** What in a source file, by its path below `packages/node/src`, prints past `Output`. */
export function outputProblems(path: string, text: string): string[] {
  const problems: string[] = [];
  const lines = text.split('\n');
  for (const rule of RULES) {
    if ((rule.in !== undefined && !rule.in.test(path)) || rule.except[path] !== undefined) continue;
    for (const [index, line] of lines.entries())
      if (!COMMENT.test(line) && rule.pattern.test(line))
        problems.push(`${path}:${index + 1}: ${rule.what}: ${line.trim()}`);
  }
  return problems;
}

/** Exceptions that no file needs any more. */
export function unusedExceptions(files: ReadonlyMap<string, string>): string[] {
  return RULES.flatMap(({ what, pattern, except }) =>
    Object.keys(except)
      .filter((path) => !pattern.test(files.get(path) ?? ''))
      .map((path) => `${path} is excepted from "${what}" without need`),
  );
}
