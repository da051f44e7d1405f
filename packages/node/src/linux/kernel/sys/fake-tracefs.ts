import { constants } from 'node:os';
import type { TracefsCalls } from './sys.ts';
import { SysError } from './sys-error.ts';

/**
 * The probes of `FakeSys`: defined and removed by the commands of the kernel's files,
 * each with a number of its own.
 */
export class FakeTracefs implements TracefsCalls {
  /** Give an errno to refuse a file, or a command written to it. */
  refuse: (path: string, line: string | null) => keyof typeof constants.errno | null = () => null;
  /** What was written, in order: `uprobe_events p:GROUP/NAME PLACE`. */
  readonly commands: string[] = [];
  /** Number by `GROUP/NAME`. */
  readonly ids = new Map<string, number>();
  /** Other files of a mounted tracefs, by their paths in it. */
  readonly files = new Map<string, string>();
  readonly #lines = new Map<string, string>();
  #nextId = 2000;

  readTracefs(path: string): string {
    this.#check('read', path, null);
    const file = this.files.get(path);
    if (file !== undefined) return file;
    const event = /^events\/(.+)\/id$/.exec(path)?.[1];
    if (event === undefined) {
      if (!path.endsWith('_events')) throw new SysError('read', constants.errno.ENOENT, { path });
      const ofFile = [...this.#lines].filter(([key]) => key.startsWith(`${path} `));
      return ofFile.map(([, line]) => `${line}\n`).join('');
    }
    const id = this.ids.get(event);
    if (id === undefined) throw new SysError('read', constants.errno.ENOENT, { path });
    return `${id}\n`;
  }

  appendTracefs(path: string, line: string): void {
    this.#check('write', path, line);
    this.commands.push(`${path} ${line}`);
    const [, command, name] = /^([pr-]):(\S+)/.exec(line) ?? [];
    if (command === undefined) throw new SysError('write', constants.errno.EINVAL, { path });
    if (command === '-') {
      if (!this.ids.delete(name!)) throw new SysError('write', constants.errno.ENOENT, { path });
      this.#lines.delete(`${path} ${name}`);
      return;
    }
    this.ids.set(name!, this.#nextId++);
    this.#lines.set(`${path} ${name}`, line);
  }

  #check(call: string, path: string, line: string | null): void {
    const errno = this.refuse(path, line);
    if (errno !== null) throw new SysError(call, constants.errno[errno], { path });
  }
}
