import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { QEMU } from './host-tools.ts';
import { DISK, INITRAMFS, KERNEL, memoryFile } from './paths.ts';
import { QmpConnection } from './qmp.ts';
import { CPU, MEMORY_MIB, SNAPSHOTS, type SnapshotName } from './recipe.ts';
import { makeScratch } from './scratch.ts';

export interface MachineOptions {
  /** The guest's folder, where QEMU runs. */
  folder: string;
  snapshot: SnapshotName;
  /** Boot and write to the snapshot's memory file, or begin from it and leave it alone. */
  mode: 'boot' | 'restore';
  hostFolder: string;
  toolsFolder: string;
}

/** The ports of `guest/agent`, by number minus one. */
const PORTS = ['control', 'out', 'err'] as const;

/** A running guest: its ports as sockets, its monitor, and the way it ended. */
export class Machine implements AsyncDisposable {
  readonly control: Socket;
  readonly out: Socket;
  readonly err: Socket;
  readonly monitor: QmpConnection;
  /** Resolves when QEMU is gone. */
  readonly ended: Promise<void>;
  readonly #child: ChildProcess;
  readonly #scratch: ReturnType<typeof makeScratch>;
  readonly #lines: AsyncIterator<string>;
  #complaint = '';

  private constructor(
    child: ChildProcess,
    scratch: ReturnType<typeof makeScratch>,
    sockets: Record<(typeof PORTS)[number], Socket>,
  ) {
    this.#child = child;
    this.#scratch = scratch;
    this.control = sockets.control;
    this.out = sockets.out;
    this.err = sockets.err;
    this.#lines = createInterface({ input: sockets.control })[Symbol.asyncIterator]();
    this.monitor = new QmpConnection(child.stdout!, child.stdin!);
    child.stderr!.on('data', (chunk: Buffer) => (this.#complaint += chunk));
    this.ended = new Promise((resolve) => child.on('close', () => resolve()));
  }

  static async start(options: MachineOptions): Promise<Machine> {
    const scratch = makeScratch('guest');
    const accepted = PORTS.map((name) => acceptOne(join(scratch.path, name)));
    // Without this process there is nobody to end the machine.
    const words = ['--pdeathsig', 'KILL', QEMU, ...machineArguments(options, scratch.path)];
    const child = spawn('setpriv', words, { cwd: options.folder, stdio: 'pipe' });
    const failed = new Promise<never>((_, reject) => {
      let complaint = '';
      child.stderr.on('data', (chunk: Buffer) => (complaint += chunk));
      child.on('error', reject);
      child.on('close', (status) => reject(new Error(`QEMU ended with status ${status}: ${complaint}`)));
    });
    failed.catch(() => {});
    try {
      const [control, out, err] = await Promise.race([Promise.all(accepted), failed]);
      return new Machine(child, scratch, { control: control!, out: out!, err: err! });
    } catch (cause) {
      child.kill('SIGKILL');
      scratch[Symbol.dispose]();
      throw cause;
    }
  }

  /** The next line that the agent says. */
  async readLine(withinSeconds: number): Promise<string> {
    const timer = new AbortController();
    const late = sleep(withinSeconds * 1000, 'late' as const, { signal: timer.signal });
    late.catch(() => {});
    const result = await Promise.race([this.#lines.next(), late]);
    timer.abort();
    if (result === 'late') {
      throw new Error(`the guest did not answer within ${withinSeconds} s:\n${this.lastWords()}`);
    }
    if (result.done === true) throw new Error(`the guest has ended:\n${this.lastWords()}`);
    return result.value;
  }

  /** What QEMU complained of, and the end of what the guest's kernel and agent said. */
  lastWords(): string {
    const console = readFileSync(join(this.#scratch.path, 'console'), 'utf8').trim().split('\n').slice(-15);
    return [this.#complaint.trim(), ...console].filter((line) => line !== '').join('\n');
  }

  /**
   * End it as a power cut would; the snapshot is not written to, and the host's
   * folders are unmounted by then.
   */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.ended;
    for (const socket of [this.control, this.out, this.err]) socket.destroy();
    this.#scratch[Symbol.dispose]();
  }
}

/** A socket at `path`, for the one connection that QEMU makes. */
function acceptOne(path: string): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const server = createServer((socket) => {
      server.close();
      resolve(socket);
    });
    server.on('error', reject);
    server.listen(path);
    server.unref();
  });
}

function machineArguments(options: MachineOptions, scratch: string): string[] {
  const { snapshot, mode } = options;
  const { cpus, exact } = SNAPSHOTS[snapshot];
  const isShared = mode === 'boot' ? 'on' : 'off';
  const memory = `size=${MEMORY_MIB}M,mem-path=${memoryFile(snapshot)},share=${isShared}`;
  return [
    ...['-M', 'virt,memory-backend=memory', '-cpu', CPU, '-smp', String(cpus), '-m', String(MEMORY_MIB)],
    ...['-accel', exact ? 'tcg,thread=single' : 'tcg', ...(exact ? ['-icount', 'shift=0'] : [])],
    ...['-object', `memory-backend-file,id=memory,${memory}`],
    ...['-nodefaults', '-no-user-config', '-no-reboot', '-display', 'none'],
    ...['-kernel', KERNEL, '-initrd', INITRAMFS, '-append', kernelCommandLine(exact)],
    ...['-drive', `if=none,id=disk,file=${DISK},format=raw,readonly=on,file.locking=off`],
    ...['-device', 'virtio-blk-device,drive=disk'],
    ...sharedFolder('host', options.hostFolder, ''),
    ...sharedFolder('tools', options.toolsFolder, ',readonly=on'),
    ...['-device', 'virtio-serial-device'],
    ...PORTS.flatMap((name, i) => [
      ...['-chardev', `socket,id=${name},path=${qemuText(join(scratch, name))}`],
      ...['-device', `virtserialport,chardev=${name},nr=${i + 1}`],
    ]),
    ...['-serial', `file:${qemuText(join(scratch, 'console'))}`],
    ...['-chardev', 'stdio,id=monitor,signal=off', '-mon', 'chardev=monitor,mode=control'],
    ...(mode === 'restore' ? ['-incoming', 'defer'] : []),
  ];
}

/**
 * Where a program's stack begins decides how it copies strings: with random addresses counts differ by a few.
 */
function kernelCommandLine(exact: boolean): string {
  return `console=ttyAMA0 quiet panic=-1${exact ? ' norandmaps' : ''}`;
}

function sharedFolder(name: string, path: string, rights: string): string[] {
  return [
    ...['-fsdev', `local,id=${name},path=${qemuText(path)},security_model=none${rights}`],
    ...['-device', `virtio-9p-device,fsdev=${name},mount_tag=${name}`],
  ];
}

/** In QEMU's options a comma is written twice. */
function qemuText(text: string): string {
  return text.replaceAll(',', ',,');
}
