/** Of busy workers, as docs/operations.md has them, for both sides of a pair; empty: Node's own. */
export const WORKER_NODE_OPTIONS: readonly string[] = (
  process.env['EVERTHREAD_BENCH_NODE_OPTIONS'] ?? '--max-semi-space-size=8 --heap-growing-percent=50'
)
  .split(' ')
  .filter((option) => option !== '')

/** A line for the table. */
export const NODE_OPTIONS_NOTE = `Node's options of the workers: ${WORKER_NODE_OPTIONS.join(' ') || 'none'} (EVERTHREAD_BENCH_NODE_OPTIONS).`
