/**
 * The hooks that run around one transaction.
 *
 * Owns: which hooks run and in what order; the time that each one has; the state that they share; the failures of hooks; the
 * place of the transaction's own row among their writes.
 * Does not own: what each point gives to a hook and accepts from it (hook-points.ts, message-hooks.ts), the
 * state itself (thread-state/buffered-state.ts).
 *
 * Invariants:
 * H1: a hook may run again after a crash; what it did to its thread happens once, in the transaction (T9).
 * H2: what a hook did before it failed is kept, as with a tool that throws.
 * H3: a hook never fails its activity: its failure is recorded, and the value before it is kept unless the point says
 *     otherwise.
 * H4: what a hook makes of a text holds no secret that hooks were given (T5).
 */
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
import { Context } from '../temporal-activity.js'
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
  /** Opens the state that the hooks share, when the first of them runs. */
  readonly open: () => Promise<BufferedState>
  /** Only one batch of an activity records the ids that this worker does not have. */
  readonly recordsMissing: boolean
}

/** How the hooks of one point are called, and what becomes of what they answer. */
interface Chain<Point extends HookPoint, Value> {
  readonly ask: (execute: HookPoints[Point], state: ThreadState, value: Value) => unknown
  /** The next value; undefined keeps the one before. @throws InvalidAnswer */
  readonly accept?: (answer: unknown, value: Value) => Value | undefined | Promise<Value | undefined>
  /** After such a value no other hook is called. */
  readonly ends?: (value: Value) => boolean
  /** The message that the point is about. */
  readonly messageId?: string
  /** Such a failure ends the chain and is answered. After any other one the value before it is kept. */
  readonly endsWith?: (failure: HookFailure) => boolean
  /** The hook is not awaited once the activity is cancelled, since its answer is not needed then. */
  readonly cut?: boolean
  readonly codeOf?: (error: unknown) => HookFailure['code']
}

/** Writes the row that the transaction itself adds; `moved`: attachments that are at another path now. */
type WriteRow = (moved: StateEffects['moved']) => Promise<void>

export interface HookBatch {
  has(...points: readonly HookPoint[]): boolean
  /** Calls the hooks of a point; `failure` is the one that ended the chain. */
  run<Point extends HookPoint, Value>(
    point: Point,
    value: Value,
    chain: Chain<Point, Value>,
  ): Promise<{ readonly value: Value; readonly failure: HookFailure | null }>
  /** Messages that the hooks have injected. */
  readonly injected: readonly Message[]
  /** The state that the hooks share. */
  readonly state: () => Promise<BufferedState>
  /**
   * Reserves the place of the one row that the transaction itself adds: behind what hooks did so far, before what later
   * ones do. `commit` gets the write of the row.
   */
  reserveRow(): Promise<void>
  /** Metadata for the row of a call's result, of what hooks and call did so far. */
  resultMetadata(): Promise<Record<string, unknown> | null>
  /** Waits until events that hooks emitted are stored, or their write has failed. To be awaited before the transaction. */
  settled(): Promise<void>
  /** Writes the failures of the hooks. */
  record(tx: Writer): Promise<void>
  /**
   * Writes what the hooks did to the thread, with the reserved row in its place, and their failures. Answers what the
   * workflow has to do. Can run again after a rollback.
   */
  commit(tx: Writer, writeRow?: WriteRow): Promise<StateEffects>
}

const NO_EFFECTS: StateEffects = { operations: [], moved: new Map() }

/** @throws `Definition.Missing` while a hook that this worker does not have is waited for */
export function createHookBatch(options: HookBatchOptions): HookBatch {
  const { threadId, scope, now } = options
  const found = findHooks(options.registry, options.ids)
  const failures: HookFailure[] = options.recordsMissing ? found.missing.map(missingHook) : []
  const injected: Message[] = []
  /** The place of the transaction's own row: before all that the hooks do, or among it. */
  let place: 'first' | 'among' | undefined
  /** The write of that row, of the commit at hand. */
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
        const outcome = await askHook({ hook, state, value: current, chain, injected })
        // What a hook makes of a text is stored, or sent to a model (H4).
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
    settled: async () => (await opened)?.settled(),
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

/** The batch of a transaction that has no hooks. */
export function withoutHooks(): HookBatch {
  return createHookBatch({
    registry: { hook: () => undefined },
    threadId: '',
    ids: [],
    scope: {},
    now: 0,
    open: () => Promise.reject(new Error('Expected no hook to be asked.')),
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

/** The hooks of a prompt that this worker has, in the order of the prompt's list. */
interface FoundHooks {
  of<Point extends HookPoint>(point: Point): readonly HookDefinition<Point>[]
  readonly missing: readonly string[]
}

/**
 * Looks up the ids. A hook that this worker does not have is waited for, as long as a rolling deploy takes, and then skipped.
 * @throws `Definition.Missing` during that minute
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

interface Asked<Point extends HookPoint, Value> {
  readonly hook: HookDefinition<Point>
  readonly state: ThreadState
  readonly value: Value
  readonly chain: Chain<Point, Value>
  /** Collects the messages that the hook injects. */
  readonly injected: Message[]
}

type Asking<Value> =
  | { readonly kind: 'taken'; readonly value: Value }
  | { readonly kind: 'failed'; readonly failure: HookFailure }

/** Calls one hook of a chain: answers the next value, or the failure, and throws nothing (H3). */
async function askHook<Point extends HookPoint, Value>(asked: Asked<Point, Value>): Promise<Asking<Value>> {
  const { hook, value, chain } = asked
  const timeout = hook.timeout ?? LIMITS.hookTimeout
  let close: (() => void) | undefined
  const outcome = await runHook({
    timeout,
    signal: Context.current().cancellationSignal,
    cut: chain.cut === true,
    execute: (abortSignal) => {
      const guarded = guardState(asked.state, {
        label: `hook ${hook.id}`,
        abortSignal,
        onInject: (message) => asked.injected.push(message),
      })
      ;({ close } = guarded)
      return chain.ask(hook.execute, guarded.state, value)
    },
  })
  close?.()
  const failed = (code: HookFailure['code'], error: unknown): Asking<Value> => {
    const { messageId } = chain
    const about = messageId === undefined ? {} : { messageId }
    return { kind: 'failed', failure: { hook: hook.id, point: hook.hook, code, error, ...about } }
  }
  if (outcome.kind === 'stopped') return { kind: 'taken', value }
  if (outcome.kind === 'timed_out')
    return failed(
      'timeout',
      new Error(`The hook "${hook.id}" did not answer within ${timeout / 1000} seconds.`),
    )
  if (outcome.kind === 'threw') return failed(chain.codeOf?.(outcome.error) ?? 'threw', outcome.error)
  try {
    const taken = await chain.accept?.(outcome.answer, value)
    return { kind: 'taken', value: taken === undefined ? value : taken }
  } catch (error) {
    // An answer may also throw when it is read. Thrown from here it would fail the activity again and again (H3).
    return failed('invalid_answer', error)
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
  /** The activity's signal, which the hook gets, too. */
  readonly signal: AbortSignal
  /** The hook is not awaited once the activity is cancelled. */
  readonly cut: boolean
}

/** Runs one hook's own code. A hook that ignores its abort signal is not awaited beyond its time. */
async function runHook({ execute, timeout, signal, cut }: HookRun): Promise<HookOutcome> {
  const abort = new AbortController()
  const both = AbortSignal.any([signal, abort.signal])
  // Each call of a hook may add a listener: Node warns above ten.
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
    if (cut) signal.addEventListener('abort', stop)
    if (cut && signal.aborted) return stop()
    Promise.resolve()
      .then(() => execute(both))
      .then(
        (answer) => end({ kind: 'answered', answer }),
        (error: unknown) => end({ kind: 'threw', error }),
      )
  })
}

/** Why a hook did not do its part. */
interface HookFailure {
  readonly hook: string
  /** Null where this worker has no hook of that id, so its point is not known. */
  readonly point: HookPoint | null
  readonly code: HookFailureCode
  readonly error: unknown
  /** The message that the hook was called for. */
  readonly messageId?: string
}

/** The answer of a hook cannot be used; the message says what was expected. */
export class InvalidAnswer extends Error {}

interface FailureRecords {
  readonly threadId: string
  readonly failures: readonly HookFailure[]
  readonly scope: EventScope
  readonly now: Micros
}

/** Writes an event for each failure, without its words; the words are in the store, for operators alone (T5). */
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
