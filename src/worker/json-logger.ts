import type { LogEntry, LogLevel } from '@temporalio/worker'
import { THREAD_WORKFLOW } from '../protocol/messages.js'
import { DefaultLogger } from './temporal-worker.js'

/** Fields of the line itself; what else is logged under these names must not hide them. */
const RESERVED: ReadonlySet<string> = new Set(['time', 'level', 'message'])

/** What identifies a task to Temporal's server, and nobody else: two hundred characters in each line. */
const LEFT_OUT: ReadonlySet<string> = new Set(['taskToken', 'isLocal'])

/**
 * A logger for Temporal's `Runtime.install({ logger: jsonLogger() })`: one JSON object a line on stderr. Lines about a thread
 * have `threadId`, those of its activities also `run`, `step`, `call`, `operation` and `attempt`.
 */
export function jsonLogger(
  level: LogLevel = 'INFO',
  write: (line: string) => void = toStderr,
): DefaultLogger {
  return new DefaultLogger(level, (entry) => write(`${jsonLine(entry)}\n`))
}

function toStderr(line: string): void {
  process.stderr.write(line)
}

function jsonLine({ timestampNanos, level, message, meta = {} }: LogEntry): string {
  const line: Record<string, unknown> = {
    time: new Date(Number(timestampNanos / 1_000_000n)).toISOString(),
    level: level.toLowerCase(),
    message,
  }
  // Its workflow id is the thread.
  if (meta['workflowType'] === THREAD_WORKFLOW) line['threadId'] = meta['workflowId']
  for (const [name, value] of Object.entries(meta))
    if (!LEFT_OUT.has(name)) line[RESERVED.has(name) ? `${name}_` : name] = value
  return JSON.stringify(line, plainValues())
}

/** A value that JSON cannot carry must not cost the line. */
function plainValues(): (this: unknown, name: string, value: unknown) => unknown {
  const above: unknown[] = []
  return function plain(this: unknown, _name, value) {
    if (typeof value === 'bigint') return value.toString()
    if (typeof value !== 'object' || value === null) return value
    while (above.length > 0 && above.at(-1) !== this) above.pop()
    if (above.includes(value)) return '[circular]'
    const shown = value instanceof Error ? errorFields(value) : value
    above.push(shown)
    return shown
  }
}

function errorFields(error: Error): object {
  const { name, message, stack, cause } = error
  return { name, message, ...(stack !== '' && { stack }), ...(cause !== undefined && { cause }) }
}
