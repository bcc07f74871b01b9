/**
 * The hooks that run around one transaction of a step or call.
 *
 * Owns: which hooks run and in what order, the state that they share, and the position of the transaction's own row among their
 * writes.
 * Does not own: what each point gives to a hook and accepts from it (hook-points.ts, message-hooks.ts, deciding-hooks.ts), the call of
 * one (hook-call.ts), the facts of its runs (hook-facts.ts), the state itself (thread-state/buffered-state.ts).
 *
 * Invariants:
 * H1: a hook may run again after a crash, but its writes to its thread are committed once, in the transaction (T9).
 * H2: the writes of a hook that fails are kept, as those of a tool that throws.
 * H3: a hook never fails its activity: its failure is recorded, and the chain keeps the previous value unless the point
 *     ends the chain.
 * H4: the value that a hook returns contains no secret that a hook read (T5).
 * H5: the facts of each run are committed with its writes. Hooks that do not run cost nothing.
 */
import { currentSignal } from '../activity.js'
import type { HookDecision } from '../../protocol/payloads/governance.js'
import { isDeepStrictEqual } from 'node:util'
import type { AnyHook, DecidingPoint, HookDefinition, HookPoint, HookPoints } from '../../definitions/hook.js'
import type { Registry } from '../../definitions/known-definitions.js'
import type { ThreadState } from '../../definitions/thread-state.js'
import type { EventScope } from '../../protocol/events.js'
import type { Fact } from '../../protocol/facts.js'
import { LIMITS } from '../../protocol/limits.js'
import type { Message } from '../../protocol/message.js'
import { appendEvents } from '../../store/events.js'
import type { Writer } from '../../store/store.js'
import { waitForDefinition } from '../plan-content.js'
import type { BufferedState, StateEffects } from '../thread-state/buffered-state.js'
import { callHook } from './hook-call.js'
import { factsOfRun } from './hook-facts.js'
import type { HookFailure, HookRun } from './hook-facts.js'
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
type Chain<Point extends HookPoint, Value> = Parameters<typeof callHook<Point, Value>>[0]['use'] & {
  /** Ends the chain after such a value. */
  readonly ends?: (value: Value) => boolean
  /** The message that the point concerns, for the facts. */
  readonly messageId?: string
  /** Ends the chain after such a failure. After any other failure the chain goes on with the previous value. */
  readonly endsWith?: (failure: HookFailure) => boolean
}

/** How the hooks of a point that decides are asked. */
interface Asking<Point extends DecidingPoint, Answer> {
  readonly call: (execute: HookPoints[Point], state: ThreadState) => unknown
  /** Checks an answer. @throws InvalidAnswer */
  readonly accept: (answer: unknown, hook: string) => Answer | null
  /** The answer of a hook that fails, or that this worker lacks. */
  readonly onFailure: (hook: string) => Answer | null
  /** What the facts say about it. */
  readonly describe: (answer: Answer) => { readonly decision: HookDecision; readonly isChanged: boolean }
  /** What the hook was asked about is not done if it fails. */
  readonly failsClosed: boolean
  readonly ends: (answer: Answer | null) => boolean
  /** The ids of the hooks to ask. @default all of the point */
  readonly among?: readonly string[]
}

/** One hook of a point that decides, and what it said. */
interface Asked<Answer> {
  readonly hook: string
  /** For its facts. */
  readonly scope: EventScope
  /** Null: it has no opinion. */
  readonly answer: Answer | null
  readonly hasFailed: boolean
  /** Keeps the text of a failure, and returns the facts of the run, for the transaction that decides. */
  readonly facts: (tx: Writer) => Promise<readonly Fact[]>
}

/** Writes the transaction's own row. `moved`: attachments that the commit put at another path. */
type WriteRow = (moved: StateEffects['moved']) => Promise<void>

/** The failure that ended a chain, and whose it is. */
type EndingFailure = HookFailure & { readonly hook: string }

export interface HookBatch {
  has(...points: readonly HookPoint[]): boolean
  /** Whether hooks of these points are listed, also such that this worker lacks. */
  decides(...points: readonly DecidingPoint[]): boolean
  /**
   * Asks the hooks of a point that decides until an answer ends that, or a stop does. They change nothing; the caller stores their
   * facts in the transaction that decides.
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
  ): Promise<{ readonly value: Value; readonly failure: EndingFailure | null }>
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
  /** Stores the facts of the hooks that have run, where their writes are dropped. */
  record(tx: Writer): Promise<void>
  /**
   * Commits the hooks' writes with the reserved row in its position, and the facts of their runs. Can run again after a
   * rollback. Returns the operations for the workflow.
   */
  commit(tx: Writer, writeRow?: WriteRow): Promise<StateEffects>
}

const NO_EFFECTS: StateEffects = { operations: [], moved: new Map() }

/** @throws `Definition.Missing` during the grace period of a hook that this worker does not have */
export function createHookBatch(options: HookBatchOptions): HookBatch {
  const found = findHooks(options.registry, options.ids)
  const runs = [...skippedHooks(options, found)]
  const injected: Message[] = []
  /** The position of the transaction's own row: before all writes of hooks, or among them. */
  let place: 'first' | 'among' | undefined
  /** The write of that row in the current commit. */
  let writeReserved: WriteRow = missingRow
  let opened: Promise<BufferedState> | undefined
  const open = (): Promise<BufferedState> => (opened ??= options.open())

  async function record(tx: Writer): Promise<void> {
    const { threadId, now } = options
    const events: Fact[] = []
    for (const run of runs) events.push(...(await factsOfRun(tx, run, options)))
    // The transaction itself moves the activity of the thread.
    await appendEvents(tx, { threadId, events, now, movesActivity: false })
  }

  return {
    has: (...points) => points.some((point) => found.of(point).length > 0),
    decides: (...points) => points.some((point) => decidingHooks(point, options, found).length > 0),
    async ask(point, asking) {
      const { among } = asking
      const hooks = decidingHooks(point, options, found)
      const chosen = among === undefined ? hooks : hooks.filter(({ id }) => among.includes(id))
      const asked = await askAll(chosen, { ...options, point, asking, open })
      // What they have emitted is stored before what is decided.
      await (await opened)?.waitForWork()
      return asked
    },
    run: (point, value, chain) =>
      runChain(found.of(point), { ...options, runs, injected, open, chain }, value),
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
  { deciding = {}, recordsMissing, scope }: HookBatchOptions,
  { missing }: FoundHooks,
): readonly HookRun[] {
  if (!recordsMissing) return []
  const skipped = missing.filter((id) => !Object.hasOwn(deciding, id))
  return skipped.map((hook) => ({
    ...{ hook, point: null, scope, timeout: null, duration: 0 },
    end: { kind: 'failed', failure: missingHook(hook), isClosed: false },
  }))
}

interface RunChain<Point extends HookPoint, Value> extends Pick<HookBatchOptions, 'scope' | 'open'> {
  readonly chain: Chain<Point, Value>
  /** Gets the runs. */
  readonly runs: HookRun[]
  /** Gets the messages that the hooks inject. */
  readonly injected: Message[]
}

async function runChain<Point extends HookPoint, Value>(
  hooks: readonly HookDefinition<Point>[],
  { chain, runs, injected, scope, open }: RunChain<Point, Value>,
  value: Value,
): Promise<{ readonly value: Value; readonly failure: EndingFailure | null }> {
  const { messageId } = chain
  const about = messageId === undefined ? scope : { ...scope, messageId }
  let current = value
  for (const hook of hooks) {
    const { state, redactor } = await open()
    const before = current
    const added: string[] = []
    const onInject = (message: Message): void => void (injected.push(message), added.push(message.id))
    const outcome = await callHook({ hook, state, value: current, use: chain, onInject })
    // The value is stored or sent to a model (H4).
    current = redactor.redactJson(outcome.kind === 'failed' ? current : outcome.value)
    const { id, hook: point, timeout = LIMITS.hookTimeout } = hook
    const run = { hook: id, point, scope: about, timeout, duration: outcome.duration }
    if (outcome.kind === 'failed') {
      const { code, error } = outcome.failure
      const failure = { code, error: redactor.redactThrown(error) }
      const isClosed = chain.endsWith?.(failure) === true
      runs.push({ ...run, end: { kind: 'failed', failure, isClosed } })
      if (isClosed) return { value: current, failure: { ...failure, hook: hook.id } }
      continue
    }
    const { isStopped } = outcome
    const isChanged = !isDeepStrictEqual(current, before)
    const decision = isChanged ? (current === null ? 'erase' : 'change') : 'none'
    runs.push({ ...run, end: { kind: 'completed', isStopped, isChanged, decision, added } })
    if (chain.ends?.(current) === true) break
  }
  return { value: current, failure: null }
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
  return { code: 'missing', error }
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
interface AskedPoint<Point extends DecidingPoint, Answer> extends Pick<
  HookBatchOptions,
  'threadId' | 'scope' | 'now'
> {
  readonly point: Point
  readonly asking: Asking<Point, Answer>
  readonly open: () => Promise<BufferedState>
}

async function askAll<Point extends DecidingPoint, Answer>(
  hooks: readonly Deciding<Point>[],
  asked: AskedPoint<Point, Answer>,
): Promise<readonly Asked<Answer>[]> {
  const answers: Asked<Answer>[] = []
  const { scope, point, asking } = asked
  for (const hook of hooks) {
    const { answer, failure, duration } = await askHook(hook, asked)
    if (currentSignal().aborted) break
    const timeout = 'execute' in hook ? (hook.timeout ?? LIMITS.hookTimeout) : null
    const end: HookRun['end'] =
      failure === null
        ? {
            ...{ kind: 'completed', isStopped: false, added: [] },
            ...(answer === null ? SAYS_NOTHING : asking.describe(answer)),
          }
        : { kind: 'failed', failure, isClosed: asking.failsClosed }
    const run = { hook: hook.id, point, scope, timeout, duration, end }
    answers.push({
      ...{ hook: hook.id, scope, answer, hasFailed: failure !== null },
      facts: (tx) => factsOfRun(tx, run, asked),
    })
    if (asking.ends(answer)) break
  }
  return answers
}

const SAYS_NOTHING = { decision: 'none', isChanged: false } as const

interface AskedHook<Answer> {
  readonly answer: Answer | null
  readonly failure: HookFailure | null
  readonly duration: number
}

async function askHook<Point extends DecidingPoint, Answer>(
  hook: Deciding<Point>,
  { asking, open }: Pick<AskedPoint<Point, Answer>, 'asking' | 'open'>,
): Promise<AskedHook<Answer>> {
  const { id } = hook
  if (!('execute' in hook)) return { answer: asking.onFailure(id), failure: missingHook(id), duration: 0 }
  const { state, redactor } = await open()
  const outcome = await callHook<Point, Answer | null>({
    ...{ hook, state, value: null, isReader: true },
    use: {
      call: asking.call,
      // T5: what they say is stored, and a model may read it.
      accept: (answer) => asking.accept(redactor.redactJson(answer), id),
      interruptible: true,
    },
  })
  const { duration } = outcome
  if (outcome.kind === 'taken') return { answer: outcome.value, failure: null, duration }
  const { code } = outcome.failure
  const failure = { code, error: redactor.redactThrown(outcome.failure.error) }
  return { answer: asking.onFailure(id), failure, duration }
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
