/** The module that a decoding thread runs. */
import { parentPort } from 'node:worker_threads';
import { servePartWorker } from '@counterpoint/trace/intel-pt';

const port = parentPort;
if (port === null) throw new Error('this module is for a worker thread');
port.on(
  'message',
  servePartWorker((message, transfer) => port.postMessage(message, [...transfer])),
);
