/**
 * The hooks that run around one transaction of a step or call.
 *
 * Owns: which hooks run and in what order, their timeouts, the state that they share, their failures, and the position of
 * the transaction's own row among their writes.
 * Does not own: what each point gives to a hook and accepts from it (hook-points.ts, message-hooks.ts, deciding-hooks.ts), the
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
import type { AnyHook, DecidingPoint, HookDefinition, HookPoint, HookPoints } from '../../definitions/hook.js'
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
  /** Those that decide, as the plan has them. @default none is known */
  readonly deciding?: Readonly<Record<string, DecidingPoint>> | undefined
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

/** How the hooks of a point that decides are asked. */
interface Asking<Point extends DecidingPoint, Answer> {
  readonly call: (execute: HookPoints[Point], state: ThreadState) => unknown
  /** Checks an answer. @throws InvalidAnswer */
  readonly accept: (answer: unknown, hook: string) => Answer | null
  /** The answer of a hook that fails, or that this worker lacks. */
  readonly onFailure: (hook: string) => Answer | null
  readonly ends: (answer: Answer | null) => boolean
}

/** One hook of a point that decides, and what it said. */
interface Asked<Answer> {
  readonly hook: string
  /** For its facts. */
  readonly scope: EventScope
  /** Milliseconds after which it is abandoned; null: this worker does not have it. */
  readonly timeout: number | null
  /** Milliseconds that it took. */
  readonly duration: number
  /** Null: it has no opinion. */
  readonly answer: Answer | null
  /** Keeps the text of its failure for operators, and returns the event; null: it has not failed. */
  readonly recordFailure: ((tx: Writer) => Promise<Fact<'hook.failed'>>) | null
}

/** Writes the transaction's own row. `moved`: attachments that the commit put at another path. */
type WriteRow = (moved: StateEffects['moved']) => Promise<void>

export interface HookBatch {
  has(...points: readonly HookPoint[]): boolean
  /** Whether hooks of these points are listed, also such that this worker lacks. */
  decides(...points: readonly DecidingPoint[]): boolean
  /**
   * Asks the hooks of a point that decides until an answer ends that, or a stop does. They change nothing; the caller records their
   * failures in the transaction that decides.
   */
  ask<Point extends DecidingPoint, Answer>(
    point: Point,
    asking: Asking<Point, Answer>,
  ): Promise<readonly Asked<Answer>[]>
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
  const found = findHooks(options.registry, options.ids)
  const failures = [...skippedHooks(options, found)]
  const injected: Message[] = []
  /** The position of the transaction's own row: before all writes of hooks, or among them. */
  let place: 'first' | 'among' | undefined
  /** The write of that row in the current commit. */
  let writeReserved: WriteRow = missingRow
  let opened: Promise<BufferedState> | undefined
  const open = (): Promise<BufferedState> => (opened ??= options.open())

  async function record(tx: Writer): Promise<void> {
    if (failures.length > 0) await recordHookFailures(tx, failures, options)
  }

  return {
    has: (...points) => points.some((point) => found.of(point).length > 0),
    decides: (...points) => points.some((point) => decidingHooks(point, options, found).length > 0),
    async ask(point, asking) {
      const asked = await askAll(decidingHooks(point, options, found), { ...options, point, asking, open })
      // What they have emitted is stored before what is decided.
      await (await opened)?.waitForWork()
      return asked
    },
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

/** Those that are missing. Where one that decides is, its call is denied, and that is recorded with the decision. */
function skippedHooks(
  { deciding = {}, recordsMissing }: HookBatchOptions,
  { missing }: FoundHooks,
): readonly HookFailure[] {
  return recordsMissing ? missing.filter((id) => !Object.hasOwn(deciding, id)).map(missingHook) : []
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

function decidingHooks<Point extends DecidingPoint>(
  point: Point,
  { ids, deciding = {} }: Pick<HookBatchOptions, 'ids' | 'deciding'>,
  found: FoundHooks,
): readonly Deciding<Point>[] {
  const known = found.of(point)
  return ids.flatMap((id) => {
    const hook = known.find((one) => one.id === id)
    if (hook !== undefined) return [hook]
    return deciding[id] === point && found.missing.includes(id) ? [{ id }] : []
  })
}

/** A hook of a point that decides; one that this worker lacks has only its id. */
type Deciding<Point extends DecidingPoint> = HookDefinition<Point> | { readonly id: string }

/** What asking a point's hooks needs of their batch. */
interface AskedPoint<Point extends DecidingPoint, Answer> extends FailureRecords {
  readonly point: Point
  readonly asking: Asking<Point, Answer>
  readonly open: () => Promise<BufferedState>
}

async function askAll<Point extends DecidingPoint, Answer>(
  hooks: readonly Deciding<Point>[],
  asked: AskedPoint<Point, Answer>,
): Promise<readonly Asked<Answer>[]> {
  const answers: Asked<Answer>[] = []
  for (const hook of hooks) {
    const begun = performance.now()
    const { answer, failure } = await askHook(hook, asked)
    if (currentSignal().aborted) break
    answers.push({
      ...{ hook: hook.id, scope: asked.scope, answer },
      timeout: 'execute' in hook ? (hook.timeout ?? LIMITS.hookTimeout) : null,
      duration: Math.round(performance.now() - begun),
      recordFailure: failure && ((tx) => recordHookFailure(tx, failure, asked)),
    })
    if (asked.asking.ends(answer)) break
  }
  return answers
}

async function askHook<Point extends DecidingPoint, Answer>(
  hook: Deciding<Point>,
  { point, asking, open }: Pick<AskedPoint<Point, Answer>, 'point' | 'asking' | 'open'>,
): Promise<{ readonly answer: Answer | null; readonly failure: HookFailure | null }> {
  const { id } = hook
  if (!('execute' in hook)) return { answer: asking.onFailure(id), failure: { ...missingHook(id), point } }
  const { state, redactor } = await open()
  const outcome = await callHook<Point, Answer | null>({
    ...{ hook, state, value: null, injected: [], isReader: true },
    chain: { call: asking.call, accept: (answer) => asking.accept(answer, id), interruptible: true },
  })
  // T5: what they say is stored, and a model may read it.
  if (outcome.kind === 'taken') return { answer: redactor.redactJson(outcome.value), failure: null }
  const error = redactor.redactThrown(outcome.failure.error)
  return { answer: asking.onFailure(id), failure: { ...outcome.failure, error } }
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
  /** The hook only decides: it must change nothing. */
  readonly isReader?: true
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
        ...(call.isReader === true && { isReader: true }),
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
  readonly scope: EventScope
  readonly now: Micros
}

async function recordHookFailures(
  tx: Writer,
  failures: readonly HookFailure[],
  { threadId, scope, now }: FailureRecords,
): Promise<void> {
  const events: Fact[] = []
  for (const failure of failures) events.push(await recordHookFailure(tx, failure, { threadId, scope, now }))
  await appendEvents(tx, { threadId, events, now })
}

/** Keeps the text of a failure for operators alone (T5). Returns its event, which has no text. */
async function recordHookFailure(
  tx: Writer,
  { hook, point, code, error, messageId }: HookFailure,
  { threadId, scope, now }: FailureRecords,
): Promise<Fact<'hook.failed'>> {
  const errorId = randomUUID()
  const { message, stack } = readThrown(error)
  await recordError(tx, { id: errorId, threadId, at: now, type: `hook.${code}`, message, stack })
  const about = messageId === undefined ? scope : { ...scope, messageId }
  return fact('hook.failed', { hook, point, code, errorId }, about)
}
