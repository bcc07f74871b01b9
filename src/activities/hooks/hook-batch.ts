/**
 * The hooks that run around one transaction of a step or call.
 *
 * Owns: which hooks run and in what order, their timeouts, the state that they share, their failures, and the position of
 * the transaction's own row among their writes.
 * Does not own: what each point gives to a hook and accepts from it (hook-points.ts, message-hooks.ts), the
 * state itself (thread-state/buffered-state.ts).
 *
 * Invariants:
 * H1: a hook may run again after a crash, but its writes to its thread are committed once, in the transaction (T9).
 * H2: the writes of a hook that fails are kept, as those of a tool that throws.
 * H3: a hook never fails its activity: its failure is recorded, and the chain keeps the previous value unless the point
 *     ends the chain.
 * H4: the value that a hook returns contains no secret that a hook read (T5).
 */
import { currentSignal } from '../activity.js'
import type { HookFailureCode } from '../../protocol/event-codes.js'
import { randomUUID } from 'node:crypto'
import { setMaxListeners } from 'node:events'
import type { AnyHook, HookDefinition, HookPoint, HookPoints } from '../../definitions/hook.js'
import type { Registry } from '../../definitions/known-definitions.js'
import type { ThreadState } from '../../definitions/thread-state.js'
import type { EventScope } from '../../protocol/events.js'
import { fact } from '../../protocol/facts.js'
import type { Fact } from '../../protocol/facts.js'
import { LIMITS } from '../../protocol/limits.js'
import type { Message } from '../../protocol/message.js'
import { recordError } from '../../store/errors.js'
import { appendEvents } from '../../store/events.js'
import type { Writer } from '../../store/store.js'
import { waitForDefinition } from '../plan-content.js'
import type { BufferedState, StateEffects } from '../thread-state/buffered-state.js'
import { readThrown } from '../thrown.js'
import { guardState } from './guarded-state.js'
import type { Micros } from '../../protocol/time.js'

interface HookBatchOptions {
  readonly registry: Pick<Registry, 'hook'>
  readonly threadId: string
  /** Ids of the hooks: those of the prompt, else those of the agent. */
  readonly ids: readonly string[]
  readonly scope: EventScope
  readonly now: Micros
  /** Opens the state that the hooks share. Called when the first of them runs. */
  readonly open: () => Promise<BufferedState>
  /** Records the hook ids that this worker does not have. Only one batch of an activity does. */
  readonly recordsMissing: boolean
}

/** How the hooks of one point are called, and how their answers are used. */
interface Chain<Point extends HookPoint, Value> {
  readonly call: (execute: HookPoints[Point], state: ThreadState, value: Value) => unknown
  /** Checks an answer and returns the next value; undefined keeps the previous one. @throws InvalidAnswer */
  readonly accept?: (answer: unknown, value: Value) => Value | undefined | Promise<Value | undefined>
  /** Ends the chain after such a value. */
  readonly ends?: (value: Value) => boolean
  /** The message that the point concerns, for the record of a failure. */
  readonly messageId?: string
  /** Ends the chain after such a failure. After any other failure the chain goes on with the previous value. */
  readonly endsWith?: (failure: HookFailure) => boolean
  /** The hook is no longer awaited when the activity is cancelled, because its answer is not needed then. */
  readonly interruptible?: boolean
  readonly codeOf?: (error: unknown) => HookFailure['code']
}

/** Writes the transaction's own row. `moved`: attachments that the commit put at another path. */
type WriteRow = (moved: StateEffects['moved']) => Promise<void>

export interface HookBatch {
  has(...points: readonly HookPoint[]): boolean
  /** Calls the hooks of a point; `failure` is the one that ended the chain. */
  run<Point extends HookPoint, Value>(
    point: Point,
    value: Value,
    chain: Chain<Point, Value>,
  ): Promise<{ readonly value: Value; readonly failure: HookFailure | null }>
  /** The messages that the hooks have injected so far. */
  readonly injected: readonly Message[]
  /** The state that the hooks share. */
  readonly state: () => Promise<BufferedState>
  /**
   * Reserves the position of the transaction's own row: behind the writes of hooks so far, before those of later hooks.
   * `commit` takes the write of the row.
   */
  reserveRow(): Promise<void>
  /** Metadata for the row of a call's result: what hooks and call sent to the parent so far. */
  resultMetadata(): Promise<Record<string, unknown> | null>
  /** Waits until the events of hooks are stored or their write has failed. Await it before the transaction. */
  waitForWork(): Promise<void>
  /** Records the failures of the hooks. */
  record(tx: Writer): Promise<void>
  /**
   * Commits the hooks' writes with the reserved row in its position, and records their failures. Can run again after a
   * rollback. Returns the operations for the workflow.
   */
  commit(tx: Writer, writeRow?: WriteRow): Promise<StateEffects>
}

const NO_EFFECTS: StateEffects = { operations: [], moved: new Map() }

/** @throws `Definition.Missing` during the grace period of a hook that this worker does not have */
export function createHookBatch(options: HookBatchOptions): HookBatch {
  const { threadId, scope, now } = options
  const found = findHooks(options.registry, options.ids)
  const failures: HookFailure[] = options.recordsMissing ? found.missing.map(missingHook) : []
  const injected: Message[] = []
  /** The position of the transaction's own row: before all writes of hooks, or among them. */
  let place: 'first' | 'among' | undefined
  /** The write of that row in the current commit. */
  let writeReserved: WriteRow = missingRow
  let opened: Promise<BufferedState> | undefined
  const open = (): Promise<BufferedState> => (opened ??= options.open())

  async function record(tx: Writer): Promise<void> {
    if (failures.length > 0) await recordHookFailures(tx, { threadId, failures, scope, now })
  }

  return {
    has: (...points) => points.some((point) => found.of(point).length > 0),
    async run(point, value, chain) {
      let current = value
      for (const hook of found.of(point)) {
        const { state, redactor } = await open()
        const outcome = await callHook({ hook, state, value: current, chain, injected })
        // The value is stored or sent to a model (H4).
        current = redactor.redactJson(outcome.kind === 'failed' ? current : outcome.value)
        if (outcome.kind === 'failed') {
          const error = redactor.redactThrown(outcome.failure.error)
          const failure = { ...outcome.failure, error }
          failures.push(failure)
          if (chain.endsWith?.(failure) === true) return { value: current, failure }
        } else if (chain.ends?.(current) === true) break
      }
      return { value: current, failure: null }
    },
    injected,
    state: open,
    async reserveRow() {
      place = opened === undefined ? 'first' : 'among'
      const state = await opened
      state?.write(async (_tx, moved) => {
        await writeReserved(moved)
        return {}
      })
    },
    resultMetadata: async () => (await opened)?.resultMetadata() ?? null,
    waitForWork: async () => (await opened)?.waitForWork(),
    record,
    async commit(tx, writeRow = missingRow) {
      if (place === undefined && writeRow !== missingRow)
        throw new Error('Expected a row for which a place was reserved, got another one.')
      writeReserved = writeRow
      if (place === 'first') await writeRow(NO_EFFECTS.moved)
      const effects = opened === undefined ? NO_EFFECTS : await (await opened).commit(tx)
      await record(tx)
      return effects
    },
  }
}

/** Creates the batch of a transaction without hooks. */
export function withoutHooks(): HookBatch {
  return createHookBatch({
    registry: { hook: () => undefined },
    threadId: '',
    ids: [],
    scope: {},
    now: 0,
    open: () => Promise.reject(new Error('Expected no hook to be called.')),
    recordsMissing: false,
  })
}

async function missingRow(): Promise<void> {
  throw new Error('Expected the write of the row for which a place was reserved, got none.')
}

function missingHook(hook: string): HookFailure {
  const error = new Error(
    `Expected the hook "${hook}" on this worker, found none: register it, or list it no more.`,
  )
  return { hook, point: null, code: 'missing', error }
}

/** The hooks of a prompt that this worker has, in the order in which the prompt lists them. */
interface FoundHooks {
  of<Point extends HookPoint>(point: Point): readonly HookDefinition<Point>[]
  readonly missing: readonly string[]
}

/**
 * Looks up the ids. During a rolling deploy another worker may have a missing hook, so the activity is retried for a minute;
 * afterwards the hook is skipped. @throws `Definition.Missing` during that minute
 */
function findHooks(registry: Pick<Registry, 'hook'>, ids: readonly string[]): FoundHooks {
  const found: AnyHook[] = []
  const missing: string[] = []
  for (const id of ids) {
    const hook = registry.hook(id)
    if (hook === undefined) missing.push(id)
    else found.push(hook)
  }
  if (missing.length > 0) waitForDefinition(`hooks ${missing.map((id) => `"${id}"`).join(', ')}`)
  return {
    // The point discriminates the union.
    of: <Point extends HookPoint>(point: Point) =>
      found.filter((hook) => hook.hook === point) as unknown as readonly HookDefinition<Point>[],
    missing,
  }
}

interface HookCall<Point extends HookPoint, Value> {
  readonly hook: HookDefinition<Point>
  readonly state: ThreadState
  readonly value: Value
  readonly chain: Chain<Point, Value>
  /** Collects the messages that the hook injects. */
  readonly injected: Message[]
}

type HookResult<Value> =
  | { readonly kind: 'taken'; readonly value: Value }
  | { readonly kind: 'failed'; readonly failure: HookFailure }

/** Calls one hook of a chain. Returns the next value or the failure, and throws nothing (H3). */
async function callHook<Point extends HookPoint, Value>(
  call: HookCall<Point, Value>,
): Promise<HookResult<Value>> {
  const { hook, value, chain } = call
  const timeout = hook.timeout ?? LIMITS.hookTimeout
  let close: (() => void) | undefined
  const outcome = await runHook({
    timeout,
    signal: currentSignal(),
    interruptible: chain.interruptible === true,
    execute: (abortSignal) => {
      const guarded = guardState(call.state, {
        label: `hook ${hook.id}`,
        abortSignal,
        onInject: (message) => call.injected.push(message),
      })
      ;({ close } = guarded)
      return chain.call(hook.execute, guarded.state, value)
    },
  })
  close?.()
  const toFailure = (code: HookFailure['code'], error: unknown): HookResult<Value> => {
    const { messageId } = chain
    const about = messageId === undefined ? {} : { messageId }
    return { kind: 'failed', failure: { hook: hook.id, point: hook.hook, code, error, ...about } }
  }
  if (outcome.kind === 'stopped') return { kind: 'taken', value }
  if (outcome.kind === 'timed_out')
    return toFailure(
      'timeout',
      new Error(`The hook "${hook.id}" did not answer within ${timeout / 1000} seconds.`),
    )
  if (outcome.kind === 'threw') return toFailure(chain.codeOf?.(outcome.error) ?? 'threw', outcome.error)
  try {
    const taken = await chain.accept?.(outcome.answer, value)
    return { kind: 'taken', value: taken === undefined ? value : taken }
  } catch (error) {
    // Reading an answer may throw too. The error would fail the activity in each attempt (H3).
    return toFailure('invalid_answer', error)
  }
}

type HookOutcome =
  | { readonly kind: 'answered'; readonly answer: unknown }
  | { readonly kind: 'threw'; readonly error: unknown }
  | { readonly kind: 'timed_out' }
  | { readonly kind: 'stopped' }

interface HookRun {
  readonly execute: (abortSignal: AbortSignal) => unknown
  /** Milliseconds. */
  readonly timeout: number
  /** The activity's signal, which the hook gets too. */
  readonly signal: AbortSignal
  /** The hook is no longer awaited when the activity is cancelled. */
  readonly interruptible: boolean
}

/** Runs the hook's own code. A hook that ignores its abort signal is not awaited beyond its timeout. */
async function runHook({ execute, timeout, signal, interruptible }: HookRun): Promise<HookOutcome> {
  const abort = new AbortController()
  const both = AbortSignal.any([signal, abort.signal])
  // Each call that a hook makes may add a listener, and Node warns above ten.
  setMaxListeners(0, both)
  return new Promise((resolve) => {
    const timer = setTimeout(() => {
      abort.abort(new Error('timed_out'))
      end({ kind: 'timed_out' })
    }, timeout)
    const stop = (): void => end({ kind: 'stopped' })
    const end = (outcome: HookOutcome): void => {
      clearTimeout(timer)
      signal.removeEventListener('abort', stop)
      resolve(outcome)
    }
    if (interruptible) signal.addEventListener('abort', stop)
    if (interruptible && signal.aborted) return stop()
    Promise.resolve()
      .then(() => execute(both))
      .then(
        (answer) => end({ kind: 'answered', answer }),
        (error: unknown) => end({ kind: 'threw', error }),
      )
  })
}

/** The failure of one hook. */
interface HookFailure {
  readonly hook: string
  /** Null if this worker has no hook of that id, so the point is unknown. */
  readonly point: HookPoint | null
  readonly code: HookFailureCode
  readonly error: unknown
  /** The message that the hook was called for. */
  readonly messageId?: string
}

/** Thrown for a hook's answer that cannot be used; the message states what was expected. */
export class InvalidAnswer extends Error {}

interface FailureRecords {
  readonly threadId: string
  readonly failures: readonly HookFailure[]
  readonly scope: EventScope
  readonly now: Micros
}

/** Writes an event for each failure without its error text, which is in the store for operators alone (T5). */
async function recordHookFailures(tx: Writer, records: FailureRecords): Promise<void> {
  const { threadId, failures, scope, now } = records
  const events: Fact[] = []
  for (const { hook, point, code, error, messageId } of failures) {
    const errorId = randomUUID()
    const { message, stack } = readThrown(error)
    await recordError(tx, { id: errorId, threadId, at: now, type: `hook.${code}`, message, stack })
    events.push(
      fact(
        'hook.failed',
        { hook, point, code, errorId },
        messageId === undefined ? scope : { ...scope, messageId },
      ),
    )
  }
  await appendEvents(tx, { threadId, events, now })
}
