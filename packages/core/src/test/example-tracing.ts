/**
 * Trace metadata of an invented tracepoint, `demo:answer`, as the kernel would
 * describe it, and its raw samples.
 */
import type { TracingParts } from '../file-formats/perfdata/tracing-data/index.ts';

export const ANSWER_ID = 1234;

export const ANSWER_FORMAT = `name: answer
ID: ${ANSWER_ID}
format:
\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;
\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;
\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;
\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;

\tfield:int answer;\toffset:8;\tsize:4;\tsigned:1;
\tfield:char who[16];\toffset:12;\tsize:16;\tsigned:0;
\tfield:__data_loc char[] text;\toffset:28;\tsize:4;\tsigned:0;
\tfield:__rel_loc char[] more;\toffset:32;\tsize:4;\tsigned:0;
\tfield:const char * name;\toffset:40;\tsize:8;\tsigned:0;
\tfield:u8 old;\toffset:48;\tsize:1;

print fmt: "answer=%d who=%s text=%s", REC->answer, REC->who, __get_str(text)
`;

const HEADER_PAGE = `\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;
\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;
\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;
\tfield: char data;\toffset:16;\tsize:4080;\tsigned:1;
`;

const HEADER_EVENT = `# compressed entry header
\ttype_len    :    5 bits
\ttime_delta  :   27 bits
\tarray       :   32 bits

\tpadding     : type == 29
\ttime_extend : type == 30
\ttime_stamp : type == 31
\tdata max type_len  == 28
`;

const PRINT_FORMAT = `name: print
ID: 5
format:
\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;
\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;
\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;
\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;

\tfield:unsigned long ip;\toffset:8;\tsize:8;\tsigned:0;
\tfield:char buf[];\toffset:16;\tsize:0;\tsigned:0;

print fmt: "%ps: %s", (void *)REC->ip, REC->buf
`;

export function exampleTracingParts(): Omit<TracingParts, 'version'> {
  return {
    littleEndian: true,
    longSize: 8,
    pageSize: 4096,
    headerPage: HEADER_PAGE,
    headerEvent: HEADER_EVENT,
    ftraceFormats: [PRINT_FORMAT],
    systems: [{ name: 'demo', formats: [ANSWER_FORMAT] }],
    kallsyms: new Uint8Array(),
    printkFormats: new Uint8Array(),
    savedCommandNames: new TextEncoder().encode('10 demo\n'),
  };
}

/** The raw data of one `demo:answer`, of a little-endian machine. */
export function answerRaw(answer: number, who: string, text: string): Uint8Array {
  const bytes = new Uint8Array(52 + text.length + 1);
  const view = new DataView(bytes.buffer);
  view.setUint16(0, ANSWER_ID, true);
  view.setInt32(4, 10, true);
  view.setInt32(8, answer, true);
  bytes.set(new TextEncoder().encode(who).subarray(0, 15), 12);
  view.setUint32(28, 52 | ((text.length + 1) << 16), true);
  bytes.set(new TextEncoder().encode(text), 52);
  return bytes;
}
