import type { Socket } from 'node:net';
import { CounterpointError } from '@counterpoint/core/base';

/** JSON lines over a socket: `{ id, do, ... }` one way, `{ id, ok }` or `{ id, error }` the other. */
export interface Request {
  id: number;
  do: string;
  [argument: string]: unknown;
}

export type Response =
  | { id: number; ok: unknown }
  | { id: number; error: { code: string; message: string; remedy: string } };

/** A line is not longer than this: control data may have 1 MiB. */
const MOST_LINE_CHARACTERS = 2 << 20;

/** Call back for each line that is JSON; anything else ends the connection. */
export function readLines(socket: Socket, onValue: (value: unknown) => void): void {
  let rest = '';
  socket.setEncoding('utf8');
  socket.on('data', (text: string) => {
    rest += text;
    const lines = rest.split('\n');
    rest = lines.pop()!;
    if (rest.length > MOST_LINE_CHARACTERS) return void socket.destroy();
    for (const line of lines) {
      if (socket.destroyed) return;
      let value: unknown;
      try {
        value = JSON.parse(line);
      } catch {
        return void socket.destroy();
      }
      onValue(value);
    }
  });
}

export function writeLine(socket: Socket, value: Request | Response): void {
  if (!socket.destroyed) socket.write(`${JSON.stringify(value)}\n`);
}

export function errorToJson(error: unknown): { code: string; message: string; remedy: string } {
  if (error instanceof CounterpointError)
    return { code: error.code, message: error.message, remedy: error.remedy };
  return {
    code: 'ERR_INTERNAL',
    message: error instanceof Error ? error.message : String(error),
    remedy: 'Look at what the publishing process logs: its code threw this.',
  };
}
