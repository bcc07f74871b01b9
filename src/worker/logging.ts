import type { LogEntry, Logger, LogLevel, LogMetadata } from '@temporalio/worker'
import { ConfigError } from '../protocol/errors.js'
import { THREAD_WORKFLOW } from '../protocol/messages.js'
import { DefaultLogger, makeTelemetryFilterString, Runtime } from './temporal-worker.js'

const LEVELS = ['TRACE', 'DEBUG', 'INFO', 'WARN', 'ERROR'] as const satisfies readonly LogLevel[]

interface LoggingOptions {
  readonly format: 'json' | 'text'
  readonly level: LogLevel
}

/**
 * Reads EVERTHREAD_LOG and EVERTHREAD_LOG_LEVEL; null if neither is set. These are no options of a worker, because Temporal's
 * Runtime and its logger belong to the process. @throws ConfigError
 */
export function readLoggingOptions(env: Readonly<Record<string, string | undefined>>): LoggingOptions | null {
  const { EVERTHREAD_LOG: format = '', EVERTHREAD_LOG_LEVEL: asked = '' } = env
  if (format === '' && asked === '') return null
  const level = LEVELS.find((known) => known === (asked.toUpperCase() || 'INFO'))
  const problems: string[] = []
  if (format !== '' && format !== 'json' && format !== 'text')
    problems.push(`Expected EVERTHREAD_LOG to be "json" or "text", got "${format}".`)
  if (level === undefined)
    problems.push(
      `Expected EVERTHREAD_LOG_LEVEL to be one of ${LEVELS.join(', ').toLowerCase()}, got "${asked}".`,
    )
  if (problems.length > 0 || level === undefined) throw new ConfigError(problems)
  return { format: format === 'json' ? 'json' : 'text', level }
}

/**
 * Installs the logger. It must run before any other code of Temporal, whose first use creates the Runtime. An existing Runtime
 * belongs to its owner and stays as it is. Without a level the lines are left out that are for developers of the SDK.
 * @throws ConfigError
 */
export function installLogging(env: Environment = process.env): void {
  const options = readLoggingOptions(env) ?? DEFAULTS
  const isLevelGiven = (env['EVERTHREAD_LOG_LEVEL'] ?? '') !== ''
  const logger = loggerOf(options)
  install(options, isLevelGiven ? logger : filtered(logger, isForUsers))
}

const DEFAULTS: LoggingOptions = { format: 'text', level: 'INFO' }

/** False for what the SDK itself says below a warning: its options, its states and the statistics of webpack. */
export function isForUsers(level: LogLevel, _message: string, meta: LogMetadata = {}): boolean {
  const isOfSdk = meta['sdkComponent'] === 'worker' || meta['sdkComponent'] === 'core'
  return !isOfSdk || level === 'WARN' || level === 'ERROR'
}

/**
 * Installs the logger for tests: by default warnings and errors only, and without Temporal's warning about its own test
 * server. @throws ConfigError
 */
export function installTestLogging(env: Environment = process.env): void {
  const options = readLoggingOptions(env) ?? QUIET
  install(options, filtered(loggerOf(options), isNoServerVersion))
}

/** Installs the logger of a terminal: as `installLogging`, with one line for each entry. @throws ConfigError */
export function installLineLogging(env: Environment = process.env): void {
  const options = readLoggingOptions(env) ?? DEFAULTS
  install(
    options,
    filtered(options.format === 'json' ? jsonLogger(options.level) : lineLogger(options.level), isForUsers),
  )
}

type Environment = Readonly<Record<string, string | undefined>>

const QUIET: LoggingOptions = { format: 'text', level: 'WARN' }

function install({ level }: LoggingOptions, logger: Logger): void {
  if (Runtime._instance !== undefined) return
  Runtime.install({
    logger,
    // Lines of Temporal's native part go through the same logger, so that all have one form.
    telemetryOptions: {
      logging: {
        forward: {},
        filter: makeTelemetryFilterString({ core: nativeLevel(level), other: 'ERROR' }),
      },
    },
  })
}

function loggerOf({ format, level }: LoggingOptions): Logger {
  return format === 'json' ? jsonLogger(level) : new DefaultLogger(level)
}

/** The time-skipping server reports no version, and the SDK warns of that in each test. */
const SERVER_VERSION = /^Temporal Server \d[\d.]* or newer is required/

const isNoServerVersion: Filter = (_level, message) => !SERVER_VERSION.test(message)

type Filter = (level: LogLevel, message: string, meta?: LogMetadata) => boolean

function filtered(logger: Logger, passes: Filter): Logger {
  const log: Logger['log'] = (level, message, meta) => {
    if (passes(level, message, meta)) logger.log(level, message, meta)
  }
  return {
    log,
    trace: (message, meta) => log('TRACE', message, meta),
    debug: (message, meta) => log('DEBUG', message, meta),
    info: (message, meta) => log('INFO', message, meta),
    warn: (message, meta) => log('WARN', message, meta),
    error: (message, meta) => log('ERROR', message, meta),
  }
}

/** The INFO lines of the native part are for its developers. */
function nativeLevel(level: LogLevel): LogLevel {
  return level === 'INFO' ? 'WARN' : level
}

/** Fields of the line itself: other values that are logged under these names must not replace them. */
const RESERVED: ReadonlySet<string> = new Set(['time', 'level', 'message'])

/** Fields that identify a task only to Temporal's server and add two hundred characters to each line. */
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

/** A logger for people at a terminal: level, message, thread and the message of the error, in one line. Stacks are in the store (`errors`). */
export function lineLogger(level: LogLevel, write: (line: string) => void = toStderr): DefaultLogger {
  return new DefaultLogger(level, ({ level: of, message, meta = {} }) => {
    const { error, workflowId, workflowType } = meta
    const thread = workflowType === THREAD_WORKFLOW ? ` (thread ${String(workflowId)})` : ''
    const reason = error === undefined ? '' : `: ${error instanceof Error ? error.message : String(error)}`
    write(`${of.toLowerCase()}: ${`${message}${thread}${reason}`.replaceAll(/\s*\n\s*/g, ' ')}\n`)
  })
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
  // The workflow id is the thread's id.
  if (meta['workflowType'] === THREAD_WORKFLOW) line['threadId'] = meta['workflowId']
  for (const [name, value] of Object.entries(meta))
    if (!LEFT_OUT.has(name)) line[RESERVED.has(name) ? `${name}_` : name] = value
  return JSON.stringify(line, plainValues())
}

/** Replaces values that JSON cannot carry: one of them must not lose the line. */
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
