/**
 * The hooks that run around one transaction. They share one buffered state, whose writes are committed with that
 * transaction: a hook may run again after a crash, what it did to its thread happens once (T9). What a hook did before it
 * failed is kept, as with a tool that throws.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import type { HookPoint, HookPoints } from '../../definitions/hook.js'
import type { Registry } from '../../definitions/registry.js'
import type { ThreadState } from '../../definitions/thread-state.js'
import type { EventScope } from '../../protocol/facts.js'
import type { Message } from '../../protocol/message.js'
import type { Writer } from '../../store/store.js'
import type { BufferedState, StateEffects } from '../thread-state/buffered-thread-state.js'
import { askHook } from './ask-hook.js'
import { findHooks } from './found-hooks.js'
import { recordHookFailures } from './hook-failure.js'
import type { HookFailure } from './hook-failure.js'

export interface HookBatchOptions {
  readonly registry: Pick<Registry, 'hook'>
  readonly threadId: string
  /** Of the prompt, else of the agent. */
  readonly ids: readonly string[]
  readonly scope: EventScope
  /** Microseconds. */
  readonly now: number
  /** The state that they share, opened when the first of them runs. */
  readonly open: () => Promise<BufferedState>
  /** Ids that this worker lacks are recorded once an activity. */
  readonly recordsMissing: boolean
}

/** One point of the chain: how its hooks are asked, and what of an answer can be taken. */
export interface Chain<Point extends HookPoint, Value> {
  readonly ask: (execute: HookPoints[Point], state: ThreadState, value: Value) => unknown
  /** Nothing keeps the value. @throws InvalidAnswer */
  readonly accept?: (answer: unknown, value: Value) => Value | undefined | Promise<Value | undefined>
  /** No hook behind this value is asked. */
  readonly ends?: (value: Value) => boolean
  /** The message that it is about. */
  readonly messageId?: string
  /** Such a failure ends the chain, and is answered. Otherwise the value before it is kept. */
  readonly endsWith?: (failure: HookFailure) => boolean
  /** Not waited for once the activity is to end: nobody needs its answer then. */
  readonly cut?: boolean
  readonly codeOf?: (error: unknown) => HookFailure['code']
}

export interface Chained<Value> {
  readonly value: Value
  /** The one that ended the chain. */
  readonly failure: HookFailure | null
}

/** `moved`: attachments that are at another path now. */
type PlacedWrite = (tx: Writer, moved: StateEffects['moved']) => Promise<void>

export interface HookBatch {
  has(...points: readonly HookPoint[]): boolean
  run<Point extends HookPoint, Value>(
    point: Point,
    value: Value,
    chain: Chain<Point, Value>,
  ): Promise<Chained<Value>>
  /** Messages that its hooks have put into the transcript to come. */
  readonly injected: readonly Message[]
  /** What they share. */
  readonly state: () => Promise<BufferedState>
  /** In the transaction of `commit`, behind what the hooks so far did and before what later ones do. */
  write(work: PlacedWrite): Promise<void>
  /** What the row of a call's result says besides, of what hooks and call did so far. */
  resultMetadata(): Promise<Record<string, unknown> | null>
  /** What its hooks emitted is stored, or given up. To be awaited before the transaction of `commit`. */
  settled(): Promise<void>
  /** Writes what went wrong. */
  record(tx: Writer): Promise<void>
  /** Writes what the hooks did to the thread, and what went wrong; answers what the workflow has to know. */
  commit(tx: Writer): Promise<StateEffects>
}

/** Hooks of these points are about a message: what they put into the transcript themselves meets no hook. */
const MESSAGE_POINTS: ReadonlySet<HookPoint> = new Set([
  'before_create_message',
  'after_create_message',
  'before_update_message',
  'after_update_message',
])

const NO_EFFECTS: StateEffects = { operations: [], moved: new Map() }

/** Told by the call itself and not by a flag: a tool may put in two messages at the same time. */
const withinMessageHook = new AsyncLocalStorage<true>()

export function isWithinMessageHook(): boolean {
  return withinMessageHook.getStore() === true
}

/** @throws `Definition.Missing` while a hook that this worker lacks is waited for */
export function createHookBatch(options: HookBatchOptions): HookBatch {
  const { threadId, scope, now } = options
  const found = findHooks(options.registry, options.ids)
  const failures: HookFailure[] = options.recordsMissing ? found.missing.map(missingHook) : []
  const injected: Message[] = []
  const first: PlacedWrite[] = []
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
        const asked = { hook, state, value: current, chain, injected }
        const outcome = MESSAGE_POINTS.has(point)
          ? await withinMessageHook.run(true, () => askHook(asked))
          : await askHook(asked)
        // T5: what a hook makes of a text is stored, or sent to a model.
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
    async write(work) {
      if (opened === undefined) first.push(work)
      else
        (await opened).write(async (tx, moved) => {
          await work(tx, moved)
          return {}
        })
    },
    resultMetadata: async () => (await opened)?.resultMetadata() ?? null,
    settled: async () => (await opened)?.settled(),
    record,
    async commit(tx) {
      for (const work of first) await work(tx, NO_EFFECTS.moved)
      const effects = opened === undefined ? NO_EFFECTS : await (await opened).commit(tx)
      await record(tx)
      return effects
    },
  }
}

/** Of a transaction that no hooks are around. */
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

function missingHook(hook: string): HookFailure {
  const error = new Error(
    `Expected the hook "${hook}" on this worker, found none: register it, or list it no more.`,
  )
  return { hook, point: null, code: 'missing', error }
}
