import { type ChildProcess, spawn } from 'node:child_process';

/** The guest cannot be had on this machine, through no fault of ours: tests are skipped, not failed. */
export class GuestUnavailable extends Error {}

export interface CommandOptions {
  cwd?: string;
  env?: NodeJS.ProcessEnv;
}

const NETWORK_IS_DOWN =
  /Could not (resolve|connect)|Temporary failure resolving|Unable to connect|ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ENETUNREACH|ETIMEDOUT/;

/** What one failure leaves running beside it, such as downloads, ends with this process. */
const running = new Set<ChildProcess>();
process.on('exit', () => {
  for (const child of running) child.kill();
});

/** Run a program to its end. Resolves to what it printed; rejects with what it complained about. */
export async function run(program: string, words: string[], options: CommandOptions = {}): Promise<string> {
  const child = spawn(program, words, { ...options, stdio: ['ignore', 'pipe', 'pipe'] });
  running.add(child);
  child.on('close', () => running.delete(child));
  const out: Buffer[] = [];
  const all: Buffer[] = [];
  child.stdout.on('data', (chunk: Buffer) => {
    out.push(chunk);
    all.push(chunk);
  });
  child.stderr.on('data', (chunk: Buffer) => all.push(chunk));
  const status = await new Promise<number | null>((resolve, reject) => {
    child.on('error', (cause) => reject(new Error(`${program} could not be started: ${cause.message}`)));
    child.on('close', resolve);
  });
  if (status === 0) return Buffer.concat(out).toString();
  const said = Buffer.concat(all).toString().trim().split('\n').slice(-8).join('\n');
  const text = `${program} ${words.slice(0, 4).join(' ')}: exit status ${status}\n${said}`;
  throw NETWORK_IS_DOWN.test(said)
    ? new GuestUnavailable(`the package registries cannot be reached:\n${text}`)
    : new Error(text);
}
