/** What a thread waits for, in words, by the kernel's function in which it waits. First line first. */
const CAUSES: readonly (readonly [cause: string, pattern: RegExp])[] = [
  ['lock or condition', /futex/],
  ['child process', /^(?:do_wait|kernel_wait|__do_wait)/],
  ['another event loop', /^(?:ep_poll|do_epoll)/],
  ['pipe', /pipe_(?:read|write|wait|release)|^(?:anon_)?pipe_|splice/],
  ['sleep', /nanosleep/],
  ['poll', /^(?:do_sys_poll|do_poll|do_select|core_sys_select|poll_schedule)/],
  ['terminal', /tty/],
  [
    'network',
    /(?:^|_)(?:tcp|udp|inet|unix|sk|sock|skb|netlink|wait_for_(?:connect|more_packets|packet))_|^sk_|^skb_/,
  ],
  [
    'disk',
    /^(?:folio_|filemap_|wait_on_|__wait_on_|bit_wait|ext4|xfs|btrfs|f2fs|jbd2|blk|bdev|submit_bio|nfs|fuse|overlayfs|ovl|io_wq|squashfs|erofs|balance_dirty|sync_|vfs_fsync|rq_qos)/,
  ],
  ['memory map lock', /^(?:down_|rwsem_|__down|mmap_|vma_)/],
  ['page fault', /fault|^(?:swap|migration|do_anonymous|shrink_|try_to_free|alloc_pages|__alloc)/],
  ['random numbers', /random/],
  ['io_uring', /io_(?:cqring|uring|sq)/],
];

export const OTHER_WAIT = 'other waits';

export function waitCause(kernelFunction: string | null): string {
  if (kernelFunction === null) return OTHER_WAIT;
  return CAUSES.find(([, pattern]) => pattern.test(kernelFunction))?.[0] ?? OTHER_WAIT;
}

/** What threads of libuv's pool do, by the functions on their stack. First line first. */
const POOL_WORK: readonly (readonly [kind: string, pattern: RegExp])[] = [
  ['DNS', /getaddrinfo|getnameinfo|^_nss_|^res_|^__res_|send_dg|gaih_/],
  ['crypto', /^node::crypto::|^EVP_|^OPENSSL|scrypt|pbkdf/i],
  ['compression', /[Zz]lib|Brotli|deflate|inflate|ZSTD/],
  ['SQLite', /sqlite/i],
  ['file system', /^uv__fs_|^uv_fs_/],
  ['add-on', /napi|Napi|AsyncWorker/],
];

export const OTHER_POOL_WORK = 'other work';
/** V8's own helpers are no part of the pool. */
const ENGINE_THREAD =
  /PlatformWorkerThread|WorkerThreadsTaskRunner|DelayedTaskScheduler|^v8::(?:platform|internal)::/;
/** libuv's, which takes work out of its queue. */
const POOL_THREAD = /^worker$/;

/** What a function on the stack of a thread says of it. */
export type PoolMark = { kind: string } | 'pool' | 'engine' | null;

export function poolMark(functionName: string): PoolMark {
  for (const [kind, pattern] of POOL_WORK) if (pattern.test(functionName)) return { kind };
  if (POOL_THREAD.test(functionName)) return 'pool';
  return ENGINE_THREAD.test(functionName) ? 'engine' : null;
}
