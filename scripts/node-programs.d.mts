export declare const NODE_PROGRAMS: readonly { in: string; out: string }[];
